# restride_highway: the SIMD library of the CPU kernels, as every source that includes it must see it.
include(RestrideHighway)

# Every dispatched file is compiled once per target that is kept: the baseline (plain C++ in Highway 1.0.3,
# SSE2 later), SSE4, AVX2 and AVX-512 on x86-64. SSSE3 alone is left out: it would serve machines of 2006-2008
# at the price of one more copy of every kernel.
add_library(restride_highway INTERFACE)
target_link_libraries(restride_highway INTERFACE hwy::hwy)
if(RESTRIDE_FUZZ OR RESTRIDE_SANITIZE MATCHES "thread")
  # Instrumented kernels take minutes each to compile; fuzzers and ThreadSanitizer look at what surrounds them.
  target_compile_definitions(restride_highway INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
elseif(RESTRIDE_SANITIZE)
  # For the same reason one target a vector width: plain C++, AVX2 and AVX-512 with byte permutes.
  target_compile_definitions(restride_highway INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3)" HWY_WANT_AVX3_DL
    RESTRIDE_AVX3_DL_ALONE)
else()
  # AVX3_DL for byte permutes: Highway leaves that target out unless it is asked for. Kernels that have none of those do
  # without it (src/cpu/no_byte_permutes.h).
  target_compile_definitions(restride_highway INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3 HWY_WANT_AVX3_DL)
endif()
