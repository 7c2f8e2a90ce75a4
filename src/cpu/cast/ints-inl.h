// Casts of integers and bool among themselves: bits that are kept, cut off, or added in front.
#if defined(RESTRIDE_CPU_CAST_INTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_INTS_INL_H_
#undef RESTRIDE_CPU_CAST_INTS_INL_H_
#else
#define RESTRIDE_CPU_CAST_INTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "src/base/storage.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of narrow integers as wider ones of the same sign, by the steps that every instruction set has.
template <class D, class V>
HWY_INLINE hn::Vec<D> extend(D d, V v) {
  constexpr bool kInSteps = sizeof(hn::TFromD<D>) == 8 && sizeof(hn::TFromV<V>) < 4;
  if constexpr (kInSteps) {
    using Step = std::conditional_t<std::is_signed_v<hn::TFromV<V>>, std::int32_t, std::uint32_t>;
    return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<Step, D>(), v));
  } else {
    return hn::PromoteTo(d, v);
  }
}

/// The lowest bits of each lane. Highway 1.0.3 takes wrong bytes of 32-bit lanes on machines with VBMI.
template <class D, class V>
HWY_INLINE hn::Vec<D> cut(D d, V v) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::TFromV<V>) == 4 && sizeof(hn::TFromD<D>) == 1)
    return hn::Vec<D>{_mm512_cvtepi32_epi8(v.raw)};
#endif
  return hn::TruncateTo(d, v);
}

/// 1 where a lane is not zero.
template <class D>
HWY_INLINE hn::Vec<D> truth(D d, hn::Vec<D> v) {
  return hn::IfThenZeroElse(hn::Eq(v, hn::Zero(d)), hn::Set(d, hn::TFromD<D>{1}));
}

/// One vector of the wider of the two elements at a time. Dst and Src: unsigned, or base::Bool; or, where Dst is wider,
/// a signed Src. Elements of one width only meet here when one of them is a bool.
template <class Dst, class Src>
struct Integers {
  template <class T>
  using Plain = std::conditional_t<std::is_same_v<T, base::Bool>, std::uint8_t, T>;
  using From = Plain<Src>;
  using To = Plain<Dst>;
  static constexpr bool kWidens = sizeof(To) > sizeof(From);
  using Wider =
      std::conditional_t<!kWidens, From, std::conditional_t<std::is_signed_v<From>, std::make_signed_t<To>, To>>;
  using D = hn::ScalableTag<Wider>;
  static constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(Wider);
  static constexpr std::size_t kVectors = 1;
  static HWY_INLINE std::size_t lanes() { return hn::Lanes(D()); }

  template <std::size_t>
  static HWY_INLINE void convert(std::byte* dst, const std::byte* src) {
    const D d;
    const hn::Rebind<From, D> d_from;
    auto in = hn::LoadU(d_from, reinterpret_cast<const From*>(src));
    if constexpr (std::is_same_v<Src, base::Bool> || (std::is_same_v<Dst, base::Bool> && sizeof(From) == 1))
      in = hn::Min(in, hn::Set(d_from, From{1}));
    else if constexpr (std::is_same_v<Dst, base::Bool>)
      in = truth(d_from, in);
    if constexpr (kWidens) {
      hn::StoreU(extend(d, in), d, reinterpret_cast<Wider*>(dst));
    } else if constexpr (sizeof(To) < sizeof(From)) {
      const hn::Rebind<To, D> d_to;
      hn::StoreU(cut(d_to, in), d_to, reinterpret_cast<To*>(dst));
    } else {
      hn::StoreU(in, d, reinterpret_cast<From*>(dst));
    }
  }
};

#endif  // a target with vectors
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
