// The GPU's own conversions to narrow floats, mended where their bits are not the CPU's.
//
// The hardware rounds as small_float.h does. It differs in two ways: NaN loses sign and payload, and the f8
// conversions saturate (there is no other form), where an overflow is infinity (f8e5m2) or NaN (f8e4m3).
// bf16 needs sm_80, the f8s sm_89; below, the integer code of small_float.h runs.
// Included by small_float.h in device code only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "src/base/storage.h"

namespace restride::base::cuda {

#if __CUDA_ARCH__ >= 890
inline constexpr bool kHasF8 = true;
#else
inline constexpr bool kHasF8 = false;
#endif
#if __CUDA_ARCH__ >= 800
inline constexpr bool kHasBF16 = true;
#else
inline constexpr bool kHasBF16 = false;
#endif

template <class Small>
inline constexpr bool kHasNarrow = std::is_same_v<Small, F16> || (std::is_same_v<Small, BF16> && kHasBF16) ||
                                   ((std::is_same_v<Small, F8E4M3> || std::is_same_v<Small, F8E5M2>)&&kHasF8);

template <class Small>
__device__ inline Small narrow(float value);

// The pair forms are used although one half is idle: ptxas 13.0 takes the 16-bit result of cvt.rn.f16.f32 for a number
// when its low byte is stored, and stores the number's integer part (seen in SASS as F2I.U8.F16, found by gpu_test).
template <>
__device__ inline F16 narrow<F16>(float value) {
  std::uint32_t pair;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
#else
  asm("{.reg .b16 half; cvt.rn.f16.f32 half, %1; mov.b32 %0, {half, half};}" : "=r"(pair) : "f"(value));
#endif
  auto bits = static_cast<std::uint16_t>(pair);
  const std::uint32_t wide = __float_as_uint(value);
  if (value != value) bits = static_cast<std::uint16_t>((wide >> 16 & 0x8000u) | 0x7e00u | (wide >> 13 & 0x3ffu));
  return {bits};
}

#if __CUDA_ARCH__ >= 800
template <>
__device__ inline BF16 narrow<BF16>(float value) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
  auto bits = static_cast<std::uint16_t>(pair);
  if (value != value) bits = static_cast<std::uint16_t>(__float_as_uint(value) >> 16 | 0x40u);
  return {bits};
}
#endif

#if __CUDA_ARCH__ >= 890
template <>
__device__ inline F8E4M3 narrow<F8E4M3>(float value) {
  std::uint16_t bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  // 464 lies halfway between the largest value, 448, and what would follow; the tie goes to 448.
  if (!(fabsf(value) <= 464.0f)) bits = static_cast<std::uint16_t>((__float_as_uint(value) >> 24 & 0x80u) | 0x7fu);
  return {static_cast<std::uint8_t>(bits)};
}

template <>
__device__ inline F8E5M2 narrow<F8E5M2>(float value) {
  std::uint16_t bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  const std::uint32_t wide = __float_as_uint(value);
  // 61440 lies halfway between the largest value, 57344, and what would follow; the tie goes to infinity.
  if (!(fabsf(value) < 61440.0f)) {
    const std::uint32_t code = value != value ? 0x7eu | (wide >> 21 & 0x3u) : 0x7cu;
    bits = static_cast<std::uint16_t>((wide >> 24 & 0x80u) | code);
  }
  return {static_cast<std::uint8_t>(bits)};
}
#endif

}  // namespace restride::base::cuda
