restride_sources(O2 cpu/run/bid.cc cpu/run/prepare.cc cpu/run/kernel.cc)
