restride_sources(O2 cpu/packed/sets.cc cpu/packed/bid.cc cpu/packed/prepare.cc cpu/packed/inside.cc
  cpu/packed/kernel.cc)
