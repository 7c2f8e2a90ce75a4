restride_sources(Os cpu/gather/bid.cc)
restride_sources(Os cpu/gather/prepare.cc)
restride_kernel_sources(O3 cpu/gather/kernel.cc)
restride_trace_sources(cpu/gather/trace.cc)
