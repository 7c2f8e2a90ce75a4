restride_sources(O2 cpu/buffered/sets.cc cpu/buffered/bid.cc)
restride_sources(Os cpu/buffered/prepare.cc)
restride_sources(O2 cpu/buffered/block_table.cc)
restride_kernel_sources(O3 cpu/buffered/kernel.cc)
