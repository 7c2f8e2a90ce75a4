restride_sources(O2 cpu/channels/find.cc cpu/channels/bid.cc cpu/channels/prepare.cc cpu/channels/kernel.cc)
