restride_sources(Os cpu/tile/sets.cc cpu/tile/bid.cc cpu/tile/matrices_bid.cc cpu/tile/prepare.cc)
restride_kernel_sources(O2 cpu/tile/records.cc cpu/tile/record_matrices.cc)
restride_kernel_sources(O3 cpu/tile/kernel.cc cpu/tile/matrices.cc)
restride_trace_sources(cpu/tile/trace.cc)
