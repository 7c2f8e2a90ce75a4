restride_sources(O2 cuda/gather/bid.cc)
list(APPEND restride_kernels cuda/gather/units.cu)
restride_trace_sources(cuda/gather/trace.cc)
