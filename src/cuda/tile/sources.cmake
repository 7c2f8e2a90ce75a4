restride_sources(Os cuda/tile/pixels_bid.cc)
restride_sources(O2 cuda/tile/bid.cc cuda/tile/bulk_bid.cc cuda/tile/tiles.cc
  cuda/tile/chains_bid.cc cuda/tile/unaligned_chains_bid.cc cuda/tile/unaligned_chains_shape.cc cuda/tile/chain_pairs.cc)
list(APPEND restride_kernels cuda/tile/unaligned.cu cuda/tile/registers.cu cuda/tile/aligned.cu cuda/tile/bulk.cu
  cuda/tile/chains.cu cuda/tile/pixels.cu cuda/tile/unaligned_chains.cu cuda/tile/unaligned_chains_cast.cu)
restride_trace_sources(cuda/tile/trace.cc)
