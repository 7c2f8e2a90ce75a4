// Casts by the book, one element at a time through the widest floating type: what benchmarks hold the library's
// own conversions against. Shares no code with them.
#pragma once

#include <cstddef>

#include <restride/dtype.hpp>

namespace restride::bench {

/// Converts one element of `src_type` at `src` to one of `dst_type` at `dst`. Float to float rounds to nearest
/// even; f8e4m3 overflows to NaN and the other floats to infinity; float to integer truncates and saturates, NaN
/// gives 0; integer to integer wraps; bool is "not zero". Pairs that `castable` refuses must not be passed.
void reference_cast(std::byte* dst, DType dst_type, const std::byte* src, DType src_type) noexcept;

/// True when two elements are the same value: equal bits, or both NaN.
bool same_value(const std::byte* a, const std::byte* b, DType type) noexcept;

}  // namespace restride::bench
