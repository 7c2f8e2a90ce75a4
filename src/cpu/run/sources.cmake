restride_sources(Os cpu/run/bid.cc)
restride_sources(Os cpu/run/prepare.cc)
restride_kernel_sources(O2 cpu/run/kernel.cc)
restride_trace_sources(cpu/run/trace.cc)
