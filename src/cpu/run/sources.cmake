restride_sources(O2 cpu/run/bid.cc cpu/run/prepare.cc)
restride_kernel_sources(O2 cpu/run/kernel.cc)
