// Permutes of the lanes of one vector and of two, by the size of a lane. Included once per instruction set.
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_PERMUTE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_PERMUTE_INL_H_
#undef RESTRIDE_CPU_SIMD_PERMUTE_INL_H_
#else
#define RESTRIDE_CPU_SIMD_PERMUTE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// True when this instruction set has permutes of units of this width.
template <std::size_t kUnit>
inline constexpr bool kPermutes =
#if HWY_TARGET <= HWY_AVX3_DL
    kUnit <= 8;
#elif HWY_TARGET <= HWY_AVX3
    kUnit >= 2 && kUnit <= 8;
#else
    false;
#endif

#if HWY_TARGET <= HWY_AVX3
/// Lane i of the result is lane index[i] of a and b, one behind the other. Lanes of one byte from AVX-512 VBMI on; not
/// instantiated before.
template <class V>
HWY_INLINE V permute_two(V a, V index, V b) {
  constexpr std::size_t kLaneBytes = sizeof(hwy::HWY_NAMESPACE::TFromV<V>);
  if constexpr (kLaneBytes == 8)
    return V{_mm512_permutex2var_epi64(a.raw, index.raw, b.raw)};
  else if constexpr (kLaneBytes == 4)
    return V{_mm512_permutex2var_epi32(a.raw, index.raw, b.raw)};
  else if constexpr (kLaneBytes == 2)
    return V{_mm512_permutex2var_epi16(a.raw, index.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX3_DL
  else
    return V{_mm512_permutex2var_epi8(a.raw, index.raw, b.raw)};
#else
  else
    return b;
#endif
}

/// Lane i of the result is lane index[i] of `from` where bit i of `lanes` is set, else lane i of `to`.
template <class V>
HWY_INLINE V permute_into(V to, std::uint64_t lanes, V index, V from) {
  constexpr std::size_t kLaneBytes = sizeof(hwy::HWY_NAMESPACE::TFromV<V>);
  if constexpr (kLaneBytes == 8)
    return V{_mm512_mask_permutexvar_epi64(to.raw, static_cast<__mmask8>(lanes), index.raw, from.raw)};
  else if constexpr (kLaneBytes == 4)
    return V{_mm512_mask_permutexvar_epi32(to.raw, static_cast<__mmask16>(lanes), index.raw, from.raw)};
  else if constexpr (kLaneBytes == 2)
    return V{_mm512_mask_permutexvar_epi16(to.raw, static_cast<__mmask32>(lanes), index.raw, from.raw)};
#if HWY_TARGET <= HWY_AVX3_DL
  else
    return V{_mm512_mask_permutexvar_epi8(to.raw, lanes, index.raw, from.raw)};
#else
  else
    return to;
#endif
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
