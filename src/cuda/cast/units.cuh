// Conversions of several units of one dtype to another at once.
//
// The bits are base/convert.h's. What is different is the work: the chip's own conversions, two units at a time where
// there are such, and what they get wrong (NaN payloads, f8 overflow) is looked for once for all units and mended
// apart.
#pragma once

#include "src/cuda/cast/cast.cuh"
#include "src/cuda/cast/words.cuh"

namespace restride::cuda {

#if __CUDA_ARCH__ >= 800
inline constexpr bool kHasHalfPairs = true;
#else
inline constexpr bool kHasHalfPairs = false;
#endif
#if __CUDA_ARCH__ >= 890
inline constexpr bool kHasF8Pairs = true;
#else
inline constexpr bool kHasF8Pairs = false;
#endif

template <class T>
inline constexpr bool kIsNarrowInt = std::is_integral_v<T> && sizeof(T) < 4;

/// f16 units as floats. The chip drops the payload of a NaN.
template <int n>
__device__ inline void widen_f16(const std::uint16_t (&in)[n], float (&out)[n]) {
  bool nan = false;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    asm("cvt.f32.f16 %0, %1;" : "=f"(out[i]) : "h"(in[i]));
    nan |= out[i] != out[i];
  }
  if (nan) {
#pragma unroll
    for (int i = 0; i < n; ++i)
      if (out[i] != out[i]) out[i] = __uint_as_float((in[i] & 0x8000u) << 16 | 0x7fc00000u | (in[i] & 0x3ffu) << 13);
  }
}

/// Any value that is exact in a float, as floats.
template <class Src, int n>
__device__ inline void widen_units(const Bits<sizeof(Src)> (&in)[n], float (&out)[n]) {
  if constexpr (std::is_same_v<Src, base::F16>) {
    widen_f16(in, out);
  } else if constexpr (std::is_same_v<Src, base::F8E5M2>) {
    std::uint16_t half[n];
#pragma unroll
    for (int i = 0; i < n; ++i) half[i] = static_cast<std::uint16_t>(in[i] << 8);
    widen_f16(half, out);
  } else if constexpr (std::is_same_v<Src, base::BF16>) {
    bool nan = false;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      out[i] = __uint_as_float(static_cast<std::uint32_t>(in[i]) << 16);
      nan |= out[i] != out[i];
    }
    if (nan) {
#pragma unroll
      for (int i = 0; i < n; ++i)
        if (out[i] != out[i]) out[i] = __uint_as_float(__float_as_uint(out[i]) | base::kQuiet32);
    }
  } else if constexpr (kHasF8Pairs && n % 2 == 0 && std::is_same_v<Src, base::F8E4M3>) {
    bool nan = false;
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      std::uint32_t pair;
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<std::uint16_t>(in[i] | in[i + 1] << 8)));
      asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
          : "=f"(out[i]), "=f"(out[i + 1])
          : "r"(pair));
      nan |= out[i] != out[i] || out[i + 1] != out[i + 1];
    }
    if (nan) {
#pragma unroll
      for (int i = 0; i < n; ++i)
        if (out[i] != out[i]) out[i] = __uint_as_float((in[i] & 0x80u) << 24 | 0x7fc00000u);
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = base::convert<float>(base::bit_cast<Src>(in[i]));
  }
}

/// What the chip's narrowing left wrong: the payload of a NaN, and f8 values too large, which it clamps.
template <class Dst>
__device__ inline void mend_narrowed(float value, Bits<sizeof(Dst)>& out) {
  const std::uint32_t wide = __float_as_uint(value);
  if constexpr (std::is_same_v<Dst, base::F16>) {
    if (value != value) out = static_cast<std::uint16_t>((wide >> 16 & 0x8000u) | 0x7e00u | (wide >> 13 & 0x3ffu));
  } else if constexpr (std::is_same_v<Dst, base::BF16>) {
    if (value != value) out = static_cast<std::uint16_t>(wide >> 16 | 0x40u);
  } else if constexpr (std::is_same_v<Dst, base::F8E4M3>) {
    // 464 lies halfway between the largest value, 448, and what would follow; the tie goes to 448.
    if (!(fabsf(value) <= 464.0f)) out = static_cast<std::uint8_t>((wide >> 24 & 0x80u) | 0x7fu);
  } else if constexpr (std::is_same_v<Dst, base::F8E5M2>) {
    // 61440 lies halfway between the largest value, 57344, and what would follow; the tie goes to infinity.
    const std::uint32_t magnitude = value != value ? 0x7eu | (wide >> 21 & 0x3u) : 0x7cu;
    out = fabsf(value) < 61440.0f ? out : static_cast<std::uint8_t>((wide >> 24 & 0x80u) | magnitude);
  }
}

/// Floats as Dst.
template <class Dst, int n>
__device__ inline void narrow_units(const float (&in)[n], Bits<sizeof(Dst)> (&out)[n]) {
  constexpr bool kHalf = std::is_same_v<Dst, base::F16>, kBrain = std::is_same_v<Dst, base::BF16>;
  constexpr bool kE4M3 = std::is_same_v<Dst, base::F8E4M3>, kE5M2 = std::is_same_v<Dst, base::F8E5M2>;
  bool odd_one = false;  // a unit that the chip converts otherwise
  if constexpr (n % 2 == 0 && kHasHalfPairs && (kHalf || kBrain)) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      std::uint32_t pair;
      if constexpr (kHalf)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(in[i + 1]), "f"(in[i]));
      else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(in[i + 1]), "f"(in[i]));
      out[i] = static_cast<std::uint16_t>(pair);
      out[i + 1] = static_cast<std::uint16_t>(pair >> 16);
      odd_one |= in[i] != in[i] || in[i + 1] != in[i + 1];
    }
  } else if constexpr (n % 2 == 0 && kHasF8Pairs && (kE4M3 || kE5M2)) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      std::uint16_t pair;
      if constexpr (kE4M3)
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(in[i + 1]), "f"(in[i]));
      else
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(in[i + 1]), "f"(in[i]));
      out[i] = static_cast<std::uint8_t>(pair);
      out[i + 1] = static_cast<std::uint8_t>(pair >> 8);
      constexpr float kLimit = kE4M3 ? 448.0f : 57344.0f;
      odd_one |= !(fabsf(in[i]) <= kLimit) || !(fabsf(in[i + 1]) <= kLimit);
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      // The chip's conversions to 32-bit integers clamp, and make 0 of NaN.
      if constexpr (std::is_same_v<Dst, std::int32_t>)
        out[i] = static_cast<std::uint32_t>(__float2int_rz(in[i]));
      else if constexpr (std::is_same_v<Dst, std::uint32_t>)
        out[i] = __float2uint_rz(in[i]);
      else if constexpr (kIsNarrowInt<Dst> && std::is_unsigned_v<Dst>)
        out[i] = static_cast<Dst>(min(__float2uint_rz(in[i]), static_cast<unsigned>(base::kMaxOf<Dst>)));
      else if constexpr (kIsNarrowInt<Dst>)
        out[i] = base::bit_cast<Bits<sizeof(Dst)>>(static_cast<Dst>(
            max(min(__float2int_rz(in[i]), static_cast<int>(base::kMaxOf<Dst>)), static_cast<int>(base::kMinOf<Dst>))));
      else
        out[i] = base::bit_cast<Bits<sizeof(Dst)>>(base::convert<Dst>(in[i]));
    }
  }
  if (odd_one) {
#pragma unroll
    for (int i = 0; i < n; ++i) mend_narrowed<Dst>(in[i], out[i]);
  }
}

/// One pair of dtypes.
template <class Dst, class Src, int n>
__device__ inline void convert_units(const Bits<sizeof(Src)> (&in)[n], Bits<sizeof(Dst)> (&out)[n]) {
  constexpr bool kExact = base::kIsSmallFloat<Src> || kIsNarrowInt<Src> || std::is_same_v<Src, base::Bool>;
  constexpr bool kToFloat = base::kIsSmallFloat<Dst> || std::is_same_v<Dst, float>;
  if constexpr (std::is_same_v<Src, float> && !base::kIsComplex<Dst>) {
    float value[n];
#pragma unroll
    for (int i = 0; i < n; ++i) value[i] = __uint_as_float(in[i]);
    narrow_units<Dst>(value, out);
  } else if constexpr (kExact && (kToFloat || (base::kIsSmallFloat<Src> && !base::kIsComplex<Dst>))) {
    // A value that a float holds exactly converts as the float does.
    float value[n];
    widen_units<Src>(in, value);
    if constexpr (std::is_same_v<Dst, float>) {
#pragma unroll
      for (int i = 0; i < n; ++i) out[i] = __float_as_uint(value[i]);
    } else {
      narrow_units<Dst>(value, out);
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = Cast<Dst, Src>::apply(in[i]);
  }
}

/// A vector of one to 16 bytes on either side.
template <class Dst, class Src, int n>
__device__ inline Bits<n * sizeof(Dst)> convert_vector(const Bits<n * sizeof(Src)>& in) {
  if constexpr (kPackedCast<Dst, Src, n>) {
    std::uint32_t from[n * sizeof(Src) / 4], to[n * sizeof(Dst) / 4];
    split<4, n * sizeof(Src) / 4>(in, from);
    convert_packed<Dst, Src, n>(from, to);
    return join<4, n * sizeof(Dst) / 4>(to);
  } else {
    Bits<sizeof(Src)> units[n];
    Bits<sizeof(Dst)> converted[n];
    split<sizeof(Src), n>(in, units);
    convert_units<Dst, Src>(units, converted);
    return join<sizeof(Dst), n>(converted);
  }
}

/// n units that lie in words from the lowest byte on, as a 16-byte word of dst.
template <class Dst, class Src, int n, int kWords>
__device__ inline uint4 convert_words(const std::uint32_t (&from)[kWords]) {
  static_assert(n * sizeof(Dst) == 16 && n * sizeof(Src) <= 4 * kWords);
  if constexpr (kPackedCast<Dst, Src, n>) {
    std::uint32_t to[4];
    convert_packed<Dst, Src, n>(from, to);
    return join<4, 4>(to);
  } else {
    constexpr int kSrc = sizeof(Src);
    Bits<kSrc> units[n];
    Bits<sizeof(Dst)> out[n];
#pragma unroll
    for (int i = 0; i < n; ++i) units[i] = static_cast<Bits<kSrc>>(from[i * kSrc / 4] >> (8 * (i * kSrc % 4)));
    convert_units<Dst, Src>(units, out);
    return join<sizeof(Dst), n>(out);
  }
}

/// The same of up to 16 bytes of units that were collected one by one.
template <class Dst, class Src, int n>
__device__ inline Bits<n * sizeof(Dst)> convert_part(const Bits<sizeof(Src)> (&in)[n]) {
  if constexpr (kPackedCast<Dst, Src, n>) {
    constexpr int kPerWord = 4 / sizeof(Src);
    std::uint32_t from[n / kPerWord], to[n * sizeof(Dst) / 4];
#pragma unroll
    for (int w = 0; w < n / kPerWord; ++w) {
      Bits<sizeof(Src)> part[kPerWord];
#pragma unroll
      for (int i = 0; i < kPerWord; ++i) part[i] = in[w * kPerWord + i];
      from[w] = join<sizeof(Src), kPerWord>(part);
    }
    convert_packed<Dst, Src, n>(from, to);
    return join<4, n * sizeof(Dst) / 4>(to);
  } else {
    Bits<sizeof(Dst)> out[n];
    convert_units<Dst, Src>(in, out);
    return join<sizeof(Dst), n>(out);
  }
}

}  // namespace restride::cuda
