// The narrow floats in both directions: f16, bf16, f8e4m3 and f8e5m2 to and from float.
//
// `widen` is exact. `narrow` rounds once, to nearest even. `to_odd` makes two roundings in a row as good as
// one: double -> float keeps in its last bit that something was cut off, so the second rounding never sees a
// tie that was none (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008: 2 bits to spare
// are enough; float has 13 more than f16 and 16 more than bf16).
//
// NaN: sign kept, quiet bit set, the upper payload bits that fit are kept. This is what x86 and Arm do in
// hardware; the GPU's own conversions drop them, so its results are mended (small_float_cuda.h).
//
// Everything assumes the default floating-point environment: round to nearest, subnormals not flushed.
#pragma once

#include <cstdint>

#include "src/base/hd.h"
#include "src/base/storage.h"
#if defined(__CUDA_ARCH__)
#include "src/base/small_float_cuda.h"
#endif

namespace restride::base {

inline constexpr std::uint32_t kSign32 = 0x8000'0000u;
inline constexpr std::uint32_t kInf32 = 0x7f80'0000u;
inline constexpr std::uint32_t kQuiet32 = 0x0040'0000u;

/// The format of a narrow float. `kInf` and `kMaxFinite` are codes without the sign bit.
template <class T>
struct Format;
template <int exponent_bits, int mantissa_bits, bool has_infinity>
struct FormatBase {
  static constexpr int kMantissaBits = mantissa_bits;
  static constexpr bool kHasInfinity = has_infinity;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kSignShift = exponent_bits + mantissa_bits;
  static constexpr std::uint32_t kMagnitude = (1u << kSignShift) - 1;
  static constexpr std::uint32_t kInf = ((1u << exponent_bits) - 1) << mantissa_bits;
  static constexpr std::uint32_t kMaxFinite = has_infinity ? kInf - 1 : kMagnitude - 1;
  /// What the magnitude of a value too large becomes.
  static constexpr std::uint32_t kOverflow = has_infinity ? kInf : kMagnitude;
  static constexpr std::uint32_t kQuiet = has_infinity ? kInf | (1u << (mantissa_bits - 1)) : kMagnitude;
  /// Places between a mantissa bit here and in a float; what a float's exponent field is larger by.
  static constexpr int kShift = 23 - mantissa_bits;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  /// Bits of the float 2^(1 - bias): the smallest normal value.
  static constexpr std::uint32_t kMinNormal32 = kRebias + (1u << 23);
};
template <>
struct Format<F16> : FormatBase<5, 10, true> {};
template <>
struct Format<BF16> : FormatBase<8, 7, true> {};
template <>
struct Format<F8E4M3> : FormatBase<4, 3, false> {};
template <>
struct Format<F8E5M2> : FormatBase<5, 2, true> {};

template <class T>
RESTRIDE_HD constexpr bool is_nan(T v) {
  return v != v;
}

/// `value`; a NaN becomes quiet, as it does wherever a conversion changes the type.
RESTRIDE_HD constexpr float quiet(float value) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  return (bits & ~kSign32) > kInf32 ? bit_cast<float>(bits | kQuiet32) : value;
}
RESTRIDE_HD constexpr double quiet(double value) {
  const std::uint64_t bits = bit_cast<std::uint64_t>(value);
  const bool nan = (bits & 0x7fff'ffff'ffff'ffffu) > 0x7ff0'0000'0000'0000u;
  return nan ? bit_cast<double>(bits | 0x0008'0000'0000'0000u) : value;
}

/// The float of the same value.
template <class Small>
RESTRIDE_HD constexpr float widen(Small value) {
  using F = Format<Small>;
  const std::uint32_t magnitude = value.bits & F::kMagnitude;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits >> F::kSignShift) << 31;
  const std::uint32_t shifted = magnitude << F::kShift;
  if (magnitude > F::kMaxFinite) {
    if constexpr (!F::kHasInfinity) return bit_cast<float>(sign | kInf32 | kQuiet32);
    if (magnitude == F::kInf) return bit_cast<float>(sign | kInf32);
    return bit_cast<float>(sign | kInf32 | kQuiet32 | (shifted & 0x007f'ffffu));
  }
  if constexpr (F::kRebias == 0) {
    return bit_cast<float>(sign | shifted);
  } else {
    if ((magnitude >> F::kMantissaBits) != 0) return bit_cast<float>(sign | (shifted + F::kRebias));
    // Subnormal: put the mantissa behind the leading 1 of the smallest normal value and take that 1 away.
    const float above = bit_cast<float>(F::kMinNormal32 + shifted) - bit_cast<float>(F::kMinNormal32);
    return bit_cast<float>(sign | bit_cast<std::uint32_t>(above));
  }
}

/// The narrow float nearest to `value`, ties to even; too large becomes infinity, NaN in f8e4m3.
template <class Small>
RESTRIDE_HD constexpr Small narrow(float value) {
  using F = Format<Small>;
  using Bits = decltype(Small::bits);
#if defined(__CUDA_ARCH__)
  if constexpr (cuda::kHasNarrow<Small>)
    if (!__builtin_is_constant_evaluated()) return cuda::narrow<Small>(value);
#endif
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << F::kSignShift;
  const std::uint32_t magnitude = bits & ~kSign32;
  if (magnitude > kInf32)
    return {static_cast<Bits>(sign | F::kQuiet | ((magnitude >> F::kShift) & ((1u << F::kMantissaBits) - 1)))};
  std::uint32_t rounded = 0;
  if (F::kRebias == 0 || magnitude >= F::kMinNormal32) {
    const std::uint32_t rebiased = magnitude - F::kRebias;
    const std::uint32_t odd = (rebiased >> F::kShift) & 1u;
    rounded = (rebiased + ((1u << (F::kShift - 1)) - 1) + odd) >> F::kShift;
    if (rounded > F::kMaxFinite) rounded = F::kOverflow;
  } else {
    // Subnormal: adding a power of two whose last place is our smallest subnormal lets the adder round.
    constexpr float kAligner = bit_cast<float>(F::kMinNormal32 + (static_cast<std::uint32_t>(F::kShift) << 23));
    rounded = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + kAligner) - bit_cast<std::uint32_t>(kAligner);
  }
  return {static_cast<Bits>(sign | rounded)};
}

/// float to double and back, with the NaN rule above on every chip.
RESTRIDE_HD constexpr double to_double(float value) {
  if (!is_nan(value)) return static_cast<double>(value);
  const std::uint64_t bits = bit_cast<std::uint32_t>(value);
  return bit_cast<double>((bits >> 31) << 63 | 0x7ff8'0000'0000'0000u | (bits & 0x007f'ffffu) << 29);
}
RESTRIDE_HD constexpr std::uint32_t nan_bits32(double nan) {
  const std::uint64_t bits = bit_cast<std::uint64_t>(nan);
  return static_cast<std::uint32_t>(bits >> 63) << 31 | kInf32 | kQuiet32 |
         (static_cast<std::uint32_t>(bits >> 29) & 0x007f'ffffu);
}
RESTRIDE_HD constexpr float to_float(double value) {
  return is_nan(value) ? bit_cast<float>(nan_bits32(value)) : static_cast<float>(value);
}

/// The float next to `value` towards zero, its last bit set when anything was cut off.
RESTRIDE_HD constexpr float to_odd(double value) {
  if (is_nan(value)) return bit_cast<float>(nan_bits32(value));
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value) return nearest;
  const bool away = value < 0 ? back < value : back > value;
  return bit_cast<float>((bit_cast<std::uint32_t>(nearest) - (away ? 1u : 0u)) | 1u);
}

}  // namespace restride::base
