// The first half of a cast through float: `Widen<Src>::load` reads N elements as float. narrow-inl.h is the other.
//
// Elements of up to 2 bytes are exact in a float; wider ones are rounded to the nearest, once. `WidenToOdd` reads those
// for what rounds once more: it loses nothing that the second rounding looks at.
// Pointers need no alignment; they are typed for width only.
#if defined(RESTRIDE_CPU_CAST_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_WIDEN_INL_H_
#undef RESTRIDE_CPU_CAST_WIDEN_INL_H_
#else
#define RESTRIDE_CPU_CAST_WIDEN_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "src/base/storage.h"
#include "src/cpu/cast/codes-inl.h"
#include "src/cpu/cast/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

template <class Src>
struct Widen;

template <>
struct Widen<float> {
  static HWY_INLINE Vec load(const void* p) { return hn::LoadU(Floats(), static_cast<const float*>(p)); }
};
/// `kToOdd`: base::to_odd of each rather than the nearest float.
template <bool kToOdd>
struct WidenDouble {
  static HWY_INLINE Vec load(const void* p) {
    const Doubles dd;
    const auto* from = static_cast<const double*>(p);
    const auto v0 = hn::LoadU(dd, from);
    const auto v1 = hn::LoadU(dd, from + hn::Lanes(dd));
    return kToOdd ? to_odd_floats(v0, v1) : to_floats(v0, v1);
  }
};
template <class Int, bool kToOdd>
struct WidenLong {
  static HWY_INLINE Vec load(const void* p) {
    const Longs du;
    const auto* from = static_cast<const std::uint64_t*>(p);
    const auto v0 = hn::LoadU(du, from);
    const auto v1 = hn::LoadU(du, from + hn::Lanes(du));
    return kToOdd ? odd_floats<Int>(v0, v1) : nearest_floats<Int>(v0, v1);
  }
};
template <>
struct Widen<double> : WidenDouble<false> {};
template <>
struct Widen<std::int64_t> : WidenLong<std::int64_t, false> {};
template <>
struct Widen<std::uint64_t> : WidenLong<std::uint64_t, false> {};
template <>
struct Widen<std::int32_t> {
  static HWY_INLINE Vec load(const void* p) {
    return hn::ConvertTo(Floats(), hn::LoadU(Ints(), static_cast<const std::int32_t*>(p)));
  }
};
template <>
struct Widen<std::uint32_t> {
  static HWY_INLINE Vec load(const void* p) {
    return nearest_float(hn::LoadU(Words(), static_cast<const std::uint32_t*>(p)));
  }
};
template <class Int>
struct WidenInteger {
  static HWY_INLINE Vec load(const void* p) {
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(Lane<Int>(), static_cast<const Int*>(p))));
  }
};
template <>
struct Widen<std::uint8_t> : WidenInteger<std::uint8_t> {};
template <>
struct Widen<std::int8_t> : WidenInteger<std::int8_t> {};
template <>
struct Widen<std::uint16_t> : WidenInteger<std::uint16_t> {};
template <>
struct Widen<std::int16_t> : WidenInteger<std::int16_t> {};
template <>
struct Widen<base::Bool> {
  static HWY_INLINE Vec load(const void* p) {
    const Lane<std::uint8_t> d8;
    const auto one = hn::Min(hn::LoadU(d8, static_cast<const std::uint8_t*>(p)), hn::Set(d8, 1));
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), one));
  }
};
/// `Widen` where the second half makes NaNs quiet itself.
template <class Src>
struct WidenBits : Widen<Src> {};
template <>
struct WidenBits<base::BF16> {
  static HWY_INLINE Vec load(const void* p) {
    const auto codes = hn::LoadU(Lane<std::uint16_t>(), static_cast<const std::uint16_t*>(p));
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), codes)));
  }
};
template <>
struct Widen<base::BF16> {
  static HWY_INLINE Vec load(const void* p) {
    const auto value = WidenBits<base::BF16>::load(p);
    const auto quiet = hn::Or(value, hn::BitCast(Floats(), hn::Set(Words(), base::kQuiet32)));
    return hn::IfThenElse(hn::Eq(value, value), value, quiet);
  }
};
template <>
struct Widen<base::F16> {
  static HWY_INLINE Vec load(const void* p) {
    const auto codes = hn::LoadU(Lane<std::uint16_t>(), static_cast<const std::uint16_t*>(p));
#if RESTRIDE_HARDWARE_F16
    return hn::PromoteTo(Floats(), hn::BitCast(Lane<hwy::float16_t>(), codes));
#else
    return widen_codes<base::F16>(hn::PromoteTo(Words(), codes));
#endif
  }
};
template <>
struct Widen<base::F8E5M2> {
  static HWY_INLINE Vec load(const void* p) {
    const auto codes = hn::LoadU(Lane<std::uint8_t>(), static_cast<const std::uint8_t*>(p));
#if RESTRIDE_HARDWARE_F16 && HWY_ARCH_X86  // GCC for Arm folds f16 -> float -> f16 to nothing, signalling NaNs too
    const auto halves = hn::ShiftLeft<8>(hn::PromoteTo(Lane<std::uint16_t>(), codes));
    return hn::PromoteTo(Floats(), hn::BitCast(Lane<hwy::float16_t>(), halves));
#else
    return widen_codes<base::F8E5M2>(hn::PromoteTo(Words(), codes));
#endif
  }
};
template <>
struct Widen<base::F8E4M3> {
  static HWY_INLINE Vec load(const void* p) {
    const auto codes = hn::LoadU(Lane<std::uint8_t>(), static_cast<const std::uint8_t*>(p));
    return widen_codes<base::F8E4M3>(hn::PromoteTo(Words(), codes));
  }
};

// ---- Sources that are rounded once more afterwards ----

template <class Src>
struct WidenToOdd;

template <>
struct WidenToOdd<double> : WidenDouble<true> {};
template <>
struct WidenToOdd<std::int64_t> : WidenLong<std::int64_t, true> {};
template <>
struct WidenToOdd<std::uint64_t> : WidenLong<std::uint64_t, true> {};
template <class Int>
struct WidenWord {
  static HWY_INLINE Vec load(const void* p) {
    return sticky_float<Int>(hn::LoadU(Words(), static_cast<const std::uint32_t*>(p)));
  }
};
template <>
struct WidenToOdd<std::int32_t> : WidenWord<std::int32_t> {};
template <>
struct WidenToOdd<std::uint32_t> : WidenWord<std::uint32_t> {};

#endif  // a target with vectors
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
