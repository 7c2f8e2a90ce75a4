restride_sources(O2 cpu/channels/find.cc cpu/channels/bid.cc)
restride_sources(Os cpu/channels/prepare.cc)
restride_kernel_sources(O2 cpu/channels/kernel.cc)
