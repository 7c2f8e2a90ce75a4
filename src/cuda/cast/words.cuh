// Conversions among the floats of 1 and 2 bytes, of those to integers of 1 byte and of f32 to f8, a register of units
// at a time: the chip converts and packs pairs, so units need not be taken apart. What the chip gets wrong (NaN
// payloads, overflow to f8) is mended in whole registers as well, without a branch, so that data full of such units is
// as fast as any.
#pragma once

#include "src/cuda/cast/cast.cuh"

namespace restride::cuda {

#if __CUDA_ARCH__ >= 890
inline constexpr bool kHasPackedCasts = true;
#else
inline constexpr bool kHasPackedCasts = false;
#endif

template <class T>
inline constexpr bool kIsF8 = std::is_same_v<T, base::F8E4M3> || std::is_same_v<T, base::F8E5M2>;
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, base::F16> || std::is_same_v<T, base::BF16>;

template <class T>
inline constexpr bool kIsByte = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int8_t>;

/// Pairs of dtypes that `convert_packed` has, for vectors of whole registers: among small floats, f32 to f8, small
/// floats to integers of 1 byte. f32 to these would lose in packed/staged, whose lanes then hold 16 registers of them.
template <class Dst, class Src, int n>
inline constexpr bool kPackedCast = kHasPackedCasts&& n % 4 == 0 && !std::is_same_v<Dst, Src> &&
                                    (((kIsF8<Dst> || kIsHalf<Dst> || kIsByte<Dst>)&&(kIsF8<Src> || kIsHalf<Src>)) ||
                                     (kIsF8<Dst> && std::is_same_v<Src, float>));

/// The least magnitude of Src, as bits, that is a NaN.
template <class Src>
constexpr std::uint32_t first_nan() {
  if constexpr (std::is_same_v<Src, base::F16>) return 0x7c01u;
  if constexpr (std::is_same_v<Src, base::BF16>) return 0x7f81u;
  return std::is_same_v<Src, base::F8E5M2> ? 0x7du : 0x7fu;
}

/// The least that f8 has no value for: e4m3 makes a NaN of what is above 464, halfway between its largest value and
/// what would follow, e5m2 infinity of 61440 and more. Elsewhere only NaNs are left to mend.
template <class Dst, class Src>
constexpr std::uint32_t first_over() {
  constexpr bool kE4M3 = std::is_same_v<Dst, base::F8E4M3>;
  if constexpr (kIsF8<Dst> && std::is_same_v<Src, base::F16>) return kE4M3 ? 0x5f41u : 0x7b80u;
  if constexpr (kIsF8<Dst> && std::is_same_v<Src, base::BF16>) return kE4M3 ? 0x43e9u : 0x4770u;
  if constexpr (kE4M3 && std::is_same_v<Src, base::F8E5M2>) return 0x60u;
  return first_nan<Src>();
}

/// The sign bit of every unit of a register whose magnitude is `first` or more.
template <class Src>
__device__ inline std::uint32_t units_from(std::uint32_t word, std::uint32_t first) {
  if constexpr (sizeof(Src) == 1)
    return ((word & 0x7f7f7f7fu) + (0x80u - first) * 0x01010101u) & 0x80808080u;
  else
    return ((word & 0x7fff7fffu) + (0x8000u - first) * 0x00010001u) & 0x80008000u;
}

/// __byte_perm with PTX's selectors, of which 8 + i makes 0 or 255 of the top bit of byte i.
__device__ inline std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  std::uint32_t out;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(low), "r"(high), "r"(selector));
  return out;
}

__device__ inline std::uint32_t choose(std::uint32_t mask, std::uint32_t yes, std::uint32_t no) {
  return (yes & mask) | (no & ~mask);
}

/// Register i of units of f8, right also where the chip is not: NaNs, and what is too large.
template <class Dst, class Src, int n>
__device__ inline std::uint32_t mend_f8(std::uint32_t chip, const std::uint32_t (&from)[n * sizeof(Src) / 4], int i) {
  std::uint32_t top, over, nan = 0, payload = 0;  // of each unit its first byte, and top bits that say yes or no
  if constexpr (sizeof(Src) == 2) {
    const std::uint32_t a = from[2 * i], b = from[2 * i + 1];
    top = __byte_perm(a, b, 0x7531);
    over = __byte_perm(units_from<Src>(a, first_over<Dst, Src>()), units_from<Src>(b, first_over<Dst, Src>()), 0x7531);
    nan = __byte_perm(units_from<Src>(a, first_nan<Src>()), units_from<Src>(b, first_nan<Src>()), 0x7531);
    payload = (std::is_same_v<Src, base::F16> ? top : __byte_perm(a, b, 0x6420) >> 5) & 0x03030303u;
  } else {
    top = from[i];
    over = nan = units_from<Src>(top, first_over<Dst, Src>());
  }
  const std::uint32_t sign = top & 0x80808080u;
  if constexpr (std::is_same_v<Dst, base::F8E4M3>)
    return chip | sign | (over - (over >> 7));  // the chip keeps all else's sign as well
  else
    return choose(permute_bytes(over, 0, 0xba98),
                  sign | 0x7c7c7c7cu | (permute_bytes(nan, 0, 0xba98) & (payload | 0x02020202u)), chip);
}

/// Register i of units of f16 or bf16, its NaNs as the reference has them: quiet, with sign and payload.
template <class Dst, class Src, int n>
__device__ inline std::uint32_t mend_half(std::uint32_t chip, const std::uint32_t (&from)[n * sizeof(Src) / 4], int i) {
  constexpr bool kToF16 = std::is_same_v<Dst, base::F16>;
  std::uint32_t unit, nan, payload = 0;  // the unit from its top bit on
  if constexpr (sizeof(Src) == 2) {
    unit = from[i];
    nan = permute_bytes(units_from<Src>(unit, first_nan<Src>()), 0, 0xbb99);
    payload = kToF16 ? (unit & 0x007f007fu) << 3 : (unit & 0x03f803f8u) >> 3;
  } else {
    const bool upper = i % 2 != 0;
    unit = __byte_perm(from[i / 2], 0, upper ? 0x3424 : 0x1404);
    nan = permute_bytes(units_from<Src>(from[i / 2], first_nan<Src>()), 0, upper ? 0xbbaa : 0x9988);
    if constexpr (std::is_same_v<Src, base::F8E5M2>) payload = kToF16 ? unit & 0x03000300u : (unit & 0x03000300u) >> 3;
  }
  return choose(nan, (unit & 0x80008000u) | (kToF16 ? 0x7e007e00u : 0x7fc07fc0u) | payload, chip);
}

/// Two units of 1 byte as two of f16, exactly.
template <class Src>
__device__ inline std::uint32_t widen_pair(std::uint32_t word, bool upper) {
  if constexpr (std::is_same_v<Src, base::F8E5M2>) {
    return __byte_perm(word, 0, upper ? 0x3424 : 0x1404);
  } else {
    std::uint32_t out;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out) : "h"(static_cast<std::uint16_t>(upper ? word >> 16 : word)));
    return out;
  }
}

/// Two units of f16 or bf16 as floats.
template <class Src>
__device__ inline void floats_of(std::uint32_t pair, float& low, float& high) {
  if constexpr (std::is_same_v<Src, base::BF16>) {
    low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xffff0000u);
  } else {
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
        : "=f"(low), "=f"(high)
        : "r"(pair));
  }
}

/// Two units of f16 or bf16 as two of Dst, in the low bits.
template <class Dst, class Src>
__device__ inline std::uint32_t convert_pair(std::uint32_t pair) {
  if constexpr (std::is_same_v<Dst, Src>) return pair;
  std::uint32_t out = 0;
  if constexpr (kIsF8<Dst> && std::is_same_v<Src, base::F16>) {
    std::uint16_t narrow;
    if constexpr (std::is_same_v<Dst, base::F8E4M3>)
      asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(narrow) : "r"(pair));
    else
      asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(narrow) : "r"(pair));
    out = narrow;
  } else {
    float low, high;
    floats_of<Src>(pair, low, high);
    if constexpr (std::is_same_v<Dst, base::F16>) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    } else if constexpr (std::is_same_v<Dst, base::BF16>) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    } else {
      std::uint16_t narrow;
      if constexpr (std::is_same_v<Dst, base::F8E4M3>)
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(narrow) : "f"(high), "f"(low));
      else
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(narrow) : "f"(high), "f"(low));
      out = narrow;
    }
  }
  return out;
}

/// The bytes number `byte` of four registers.
template <int byte>
__device__ inline std::uint32_t gather_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  constexpr std::uint32_t kTwo = byte | (byte + 4) << 4;
  return __byte_perm(__byte_perm(a, b, kTwo), __byte_perm(c, d, kTwo), 0x5410);
}

/// Four integers as bytes of Dst, clamped.
template <class Dst>
__device__ inline std::uint32_t pack_clamped(int a, int b, int c, int d) {
  std::uint32_t out;
  if constexpr (std::is_same_v<Dst, std::uint8_t>)
    asm("{.reg .b32 upper; cvt.pack.sat.u8.s32.b32 upper, %4, %3, 0; cvt.pack.sat.u8.s32.b32 %0, %2, %1, upper;}"
        : "=r"(out)
        : "r"(a), "r"(b), "r"(c), "r"(d));
  else
    asm("{.reg .b32 upper; cvt.pack.sat.s8.s32.b32 upper, %4, %3, 0; cvt.pack.sat.s8.s32.b32 %0, %2, %1, upper;}"
        : "=r"(out)
        : "r"(a), "r"(b), "r"(c), "r"(d));
  return out;
}

/// Four floats as f8, right also where the chip is not: NaNs, and what is too large.
template <class Dst>
__device__ inline std::uint32_t pack_f8(const std::uint32_t (&bits)[4]) {
  constexpr bool kE4M3 = std::is_same_v<Dst, base::F8E4M3>;
  std::uint16_t pair[2];
  std::uint32_t over[4], nan[4];  // top bits that say yes or no
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float low = __uint_as_float(bits[2 * i]), high = __uint_as_float(bits[2 * i + 1]);
    if constexpr (kE4M3)
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair[i]) : "f"(high), "f"(low));
    else
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair[i]) : "f"(high), "f"(low));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // 464 lies halfway between e4m3's largest value, 448, and what would follow, and goes to 448; 61440 halfway between
    // e5m2's, 57344, and what would follow, and goes to infinity.
    constexpr std::uint32_t kFirstOver = kE4M3 ? 0x43e80001u : 0x47700000u, kFirstNan = 0x7f800001u;
    const std::uint32_t magnitude = bits[i] & 0x7fffffffu;
    over[i] = magnitude + (0x80000000u - kFirstOver);
    nan[i] = magnitude + (0x80000000u - kFirstNan);
  }
  const std::uint32_t chip = __byte_perm(pair[0], pair[1], 0x5410);
  const std::uint32_t sign = gather_bytes<3>(bits[0], bits[1], bits[2], bits[3]) & 0x80808080u;
  const std::uint32_t above = gather_bytes<3>(over[0], over[1], over[2], over[3]);
  if constexpr (kE4M3) {
    const std::uint32_t mark = above & 0x80808080u;
    return chip | sign | (mark - (mark >> 7));  // the chip keeps all else's sign as well
  } else {
    const std::uint32_t payload = gather_bytes<2>(bits[0], bits[1], bits[2], bits[3]) >> 5 & 0x03030303u;
    const std::uint32_t no_number = permute_bytes(gather_bytes<3>(nan[0], nan[1], nan[2], nan[3]), 0, 0xba98);
    return choose(permute_bytes(above, 0, 0xba98), sign | 0x7c7c7c7cu | (no_number & (payload | 0x02020202u)), chip);
  }
}

/// All units of a vector.
template <class Dst, class Src, int n>
__device__ inline void convert_packed(const std::uint32_t (&from)[n * sizeof(Src) / 4],
                                      std::uint32_t (&to)[n * sizeof(Dst) / 4]) {
  if constexpr (std::is_same_v<Src, float> && kIsF8<Dst>) {
#pragma unroll
    for (int i = 0; i < n / 4; ++i) {
      const std::uint32_t four[4] = {from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]};
      to[i] = pack_f8<Dst>(four);
    }
    return;
  } else if constexpr (kIsByte<Dst>) {
#pragma unroll
    for (int i = 0; i < n / 4; ++i) {
      float value[4];
      if constexpr (kIsF8<Src>) {
        floats_of<base::F16>(widen_pair<Src>(from[i], false), value[0], value[1]);
        floats_of<base::F16>(widen_pair<Src>(from[i], true), value[2], value[3]);
      } else {
        floats_of<Src>(from[2 * i], value[0], value[1]);
        floats_of<Src>(from[2 * i + 1], value[2], value[3]);
      }
      // The chip's conversions to 32-bit integers clamp, and make 0 of NaN.
      to[i] = pack_clamped<Dst>(__float2int_rz(value[0]), __float2int_rz(value[1]), __float2int_rz(value[2]),
                                __float2int_rz(value[3]));
    }
    return;
  } else {
    using Mid = std::conditional_t<kIsF8<Src>, base::F16, Src>;
    std::uint32_t pair[n / 2];
#pragma unroll
    for (int i = 0; i < n / 2; ++i) {
      std::uint32_t half = 0;
      if constexpr (kIsF8<Src>)
        half = widen_pair<Src>(from[i / 2], i % 2 != 0);
      else
        half = from[i];
      pair[i] = convert_pair<Dst, Mid>(half);
    }
#pragma unroll
    for (int i = 0; i < static_cast<int>(n * sizeof(Dst) / 4); ++i) {
      if constexpr (kIsF8<Dst>)
        to[i] = mend_f8<Dst, Src, n>(__byte_perm(pair[2 * i], pair[2 * i + 1], 0x5410), from, i);
      else
        to[i] = mend_half<Dst, Src, n>(pair[i], from, i);
    }
  }
}

}  // namespace restride::cuda
