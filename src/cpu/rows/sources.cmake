restride_sources(O2 cpu/rows/bid.cc cpu/rows/prepare.cc cpu/rows/kernel.cc)
restride_sources(O3 cpu/rows/order.cc cpu/rows/records.cc)
