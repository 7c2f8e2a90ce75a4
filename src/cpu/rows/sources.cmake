restride_sources(O2 cpu/rows/bid.cc cpu/rows/prepare.cc cpu/rows/kernel.cc cpu/rows/records.cc)
restride_sources(O3 cpu/rows/order.cc)
