restride_sources(O2 cpu/gather/bid.cc cpu/gather/prepare.cc)
restride_kernel_sources(O3 cpu/gather/kernel.cc)
