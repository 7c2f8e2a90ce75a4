restride_sources(Os cpu/channels/find.cc cpu/channels/bid.cc cpu/channels/prepare.cc)
restride_kernel_sources(O2 cpu/channels/kernel.cc)
restride_trace_sources(cpu/channels/trace.cc)
