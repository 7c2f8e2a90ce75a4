// The value of a cast, for every pair of dtypes: docs/casts.md in code, and the only place it is in code.
//
// Every kernel, vectorised or on the GPU, is tested bit for bit against `convert`.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/base/hd.h"
#include "src/base/small_float.h"
#include "src/base/storage.h"

namespace restride::base {

template <class Int>
inline constexpr Int kMinOf = std::numeric_limits<Int>::min();
template <class Int>
inline constexpr Int kMaxOf = std::numeric_limits<Int>::max();

/// `value` without its fraction, clamped to what Int holds; NaN is 0.
/// Float is float or double; the result of an in-range value is exact.
template <class Int, class Float>
RESTRIDE_HD constexpr Int truncate_saturated(Float value) {
  // Int's limits: the lower is a power of two or 0, so exact; the upper + 1 is one as well, so compare with that.
  constexpr int kDigits = std::numeric_limits<Int>::digits;
  constexpr Float kBeyond = static_cast<Float>(std::uint64_t{1} << (kDigits - 1)) * 2;
  constexpr Float kLowest = static_cast<Float>(kMinOf<Int>);
  if (is_nan(value)) return 0;
  if (value <= kLowest) return kMinOf<Int>;
  if (value >= kBeyond) return kMaxOf<Int>;
  return static_cast<Int>(value);
}

/// A double that rounds to a bf16 as the integer would: 53 bits are fewer than 64, so what would be cut off
/// is gathered in a bit that 8-bit precision never keeps.
template <class Int>
RESTRIDE_HD constexpr double sticky_double(Int value) {
  if constexpr (sizeof(Int) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = std::is_signed_v<Int> && static_cast<std::int64_t>(value) < 0;
    const auto bits = static_cast<std::uint64_t>(value);
    std::uint64_t magnitude = negative ? 0 - bits : bits;
    if ((magnitude >> 53) != 0) magnitude = (magnitude & ~0xfffull) | ((magnitude & 0xfffu) != 0 ? 0x1000u : 0u);
    const double result = static_cast<double>(magnitude);
    return negative ? -result : result;
  }
}

template <class Dst, class Src>
RESTRIDE_HD constexpr Dst convert(Src src);

namespace detail {

template <class Src>
RESTRIDE_HD constexpr bool is_nonzero(Src src) {
  if constexpr (std::is_same_v<Src, Bool>)
    return src.bits != 0;
  else if constexpr (kIsSmallFloat<Src>)
    return (src.bits & Format<Src>::kMagnitude) != 0;
  else
    return src != Src{0};
}

template <class Dst, class Float>
RESTRIDE_HD constexpr Dst from_float(Float src) {
  if constexpr (std::is_integral_v<Dst>)
    return truncate_saturated<Dst>(src);
  else if constexpr (std::is_same_v<Dst, Float>)
    return src;
  else if constexpr (std::is_same_v<Dst, double>)
    return to_double(src);
  else if constexpr (std::is_same_v<Dst, float>)
    return to_float(src);
  else if constexpr (std::is_same_v<Float, double>)
    return narrow<Dst>(to_odd(src));
  else
    return narrow<Dst>(src);
}

template <class Dst, class Int>
RESTRIDE_HD constexpr Dst from_integer(Int src) {
  if constexpr (std::is_integral_v<Dst> || std::is_same_v<Dst, float> || std::is_same_v<Dst, double>)
    return static_cast<Dst>(src);  // integers wrap as in C and NumPy; floats round to nearest even
  else if constexpr (std::is_same_v<Dst, BF16> && sizeof(Int) >= 4)
    return narrow<BF16>(to_odd(sticky_double(src)));
  else
    // Exact below 2^24; from there on f16 and the f8s overflow whichever way the float was rounded.
    return narrow<Dst>(static_cast<float>(src));
}

}  // namespace detail

/// `src` as a Dst. Both are storage types (storage.h); complex to real does not compile, as `castable` says.
template <class Dst, class Src>
RESTRIDE_HD constexpr Dst convert(Src src) {
  static_assert(kIsComplex<Dst> || !kIsComplex<Src>, "complex to real is refused: take the real part first");
  if constexpr (std::is_same_v<Dst, Src>) {
    return src;
  } else if constexpr (kIsComplex<Dst>) {
    using Part = decltype(Dst::re);
    if constexpr (kIsComplex<Src>)
      return {convert<Part>(src.re), convert<Part>(src.im)};
    else if constexpr (std::is_same_v<Part, Src>)
      return {quiet(src), Part{0}};
    else
      return {convert<Part>(src), Part{0}};
  } else if constexpr (std::is_same_v<Dst, Bool>) {
    return {static_cast<std::uint8_t>(detail::is_nonzero(src) ? 1 : 0)};
  } else if constexpr (std::is_same_v<Src, Bool>) {
    return convert<Dst>(static_cast<std::uint8_t>(detail::is_nonzero(src) ? 1 : 0));
  } else if constexpr (std::is_integral_v<Src>) {
    return detail::from_integer<Dst>(src);
  } else if constexpr (kIsSmallFloat<Src>) {
    return detail::from_float<Dst>(widen(src));
  } else {
    return detail::from_float<Dst>(src);
  }
}

}  // namespace restride::base
