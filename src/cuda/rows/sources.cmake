restride_sources(Os cuda/rows/words_bid.cc cuda/rows/pixels_bid.cc cuda/rows/short_bid.cc)
list(APPEND restride_kernels cuda/rows/words.cu cuda/rows/pixels.cu cuda/rows/short.cu cuda/rows/cast.cu)
restride_trace_sources(cuda/rows/trace.cc)
