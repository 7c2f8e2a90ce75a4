restride_sources(O2 cpu/rows/bid.cc)
restride_sources(Os cpu/rows/prepare.cc)
restride_kernel_sources(O2 cpu/rows/kernel.cc cpu/rows/records.cc)
restride_sources(O2 cpu/rows/order.cc)
