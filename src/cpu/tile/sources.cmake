restride_sources(O2 cpu/tile/sets.cc cpu/tile/bid.cc)
restride_sources(Os cpu/tile/prepare.cc)
restride_kernel_sources(O2 cpu/tile/records.cc cpu/tile/record_matrices.cc)
restride_kernel_sources(O3 cpu/tile/kernel.cc cpu/tile/matrices.cc)
