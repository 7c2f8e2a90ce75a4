// Conversions among the floats of 1 and 2 bytes, a register of them at a time: the chip converts pairs, so units need
// not be taken apart. What the chip gets wrong (NaN payloads, overflow to f8) is looked for in whole registers; a
// vector that holds such a unit is converted unit by unit.
#pragma once

#include "src/kernels/cuda/casts.cuh"

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

/// Pairs of dtypes that `convert_packed` has, for vectors of whole registers.
template <class Dst, class Src, int n>
inline constexpr bool kPackedCast = kHasPackedCasts&& n % 4 == 0 && !std::is_same_v<Dst, Src> &&
                                    (kIsF8<Dst> || kIsHalf<Dst>)&&(kIsF8<Src> || kIsHalf<Src>);

/// The least magnitude, as bits, that must not go through the chip's conversion: NaN, or what f8 has no value for.
template <class Dst, class Src>
constexpr std::uint32_t first_odd_one() {
  constexpr bool kNarrow = kIsF8<Dst> && (kIsHalf<Src> || std::is_same_v<Src, base::F8E5M2>);
  constexpr bool kE4M3 = std::is_same_v<Dst, base::F8E4M3>;  // its largest value is 448, e5m2's 57344
  if constexpr (std::is_same_v<Src, base::F16>) return kNarrow ? (kE4M3 ? 0x5f01u : 0x7b01u) : 0x7c01u;
  if constexpr (std::is_same_v<Src, base::BF16>) return kNarrow ? (kE4M3 ? 0x43e1u : 0x4761u) : 0x7f81u;
  if constexpr (std::is_same_v<Src, base::F8E5M2>) return kNarrow ? 0x60u : 0x7du;
  return 0x7fu;
}

/// True when a register of units has none that `first_odd_one` names.
template <class Dst, class Src>
__device__ inline bool plain(std::uint32_t word) {
  constexpr std::uint32_t kFirst = first_odd_one<Dst, Src>();
  if constexpr (sizeof(Src) == 1)
    return (((word & 0x7f7f7f7fu) + (0x80u - kFirst) * 0x01010101u) & 0x80808080u) == 0;
  else
    return (((word & 0x7fff7fffu) + (0x8000u - kFirst) * 0x00010001u) & 0x80008000u) == 0;
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

/// All units of a vector; false, and nothing converted, when one of them is for `convert_units`.
template <class Dst, class Src, int n>
__device__ inline bool convert_packed(const std::uint32_t (&from)[n * sizeof(Src) / 4],
                                      std::uint32_t (&to)[n * sizeof(Dst) / 4]) {
  constexpr int kIn = n * sizeof(Src) / 4, kOut = n * sizeof(Dst) / 4;
  bool all = true;
#pragma unroll
  for (int i = 0; i < kIn; ++i) all &= plain<Dst, Src>(from[i]);
  if (!all) return false;
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
  for (int i = 0; i < kOut; ++i) {
    if constexpr (kIsF8<Dst>)
      to[i] = __byte_perm(pair[2 * i], pair[2 * i + 1], 0x5410);
    else
      to[i] = pair[i];
  }
  return true;
}

}  // namespace restride::cuda
