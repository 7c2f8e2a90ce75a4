restride_sources(O2 cuda/packed/bid.cc cuda/packed/records_bid.cc cuda/packed/direct_bid.cc cuda/packed/batches_bid.cc
  cuda/packed/flat.cc cuda/packed/sorted.cc)
restride_sources(Os cuda/packed/staged_args.cc)
restride_sources(O3 cuda/packed/staged_bid.cc cuda/packed/set.cc cuda/packed/price.cc
  cuda/packed/lattice.cc cuda/packed/lanes.cc)
list(APPEND restride_kernels cuda/packed/staged.cu cuda/packed/direct.cu cuda/packed/batches.cu cuda/packed/planes.cu
  cuda/packed/records.cu cuda/packed/records_cast.cu)
restride_trace_sources(cuda/packed/trace.cc cuda/packed/records_trace.cc cuda/packed/staged_trace.cc)
