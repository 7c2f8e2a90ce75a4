// A permute of the lanes of two vectors, by the size of a lane. Included once per instruction set.
#include <cstddef>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_PERMUTE_TWO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_PERMUTE_TWO_INL_H_
#undef RESTRIDE_KERNELS_CPU_PERMUTE_TWO_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_PERMUTE_TWO_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

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
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
