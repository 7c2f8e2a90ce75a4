restride_sources(O2 cpu/packed/inside.cc)
restride_sources(Os cpu/packed/sets.cc cpu/packed/bid.cc cpu/packed/prepare.cc)
restride_kernel_sources(O2 cpu/packed/kernel.cc)
restride_trace_sources(cpu/packed/trace.cc)
