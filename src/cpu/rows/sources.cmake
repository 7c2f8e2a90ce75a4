restride_sources(Os cpu/rows/bid.cc cpu/rows/prepare.cc cpu/rows/order.cc)
restride_kernel_sources(O2 cpu/rows/kernel.cc cpu/rows/records.cc)
restride_trace_sources(cpu/rows/trace.cc)
