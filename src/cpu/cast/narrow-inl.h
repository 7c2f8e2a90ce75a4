// The second half of a cast through float: `Narrow<Dst>::store` writes N floats as base::convert would write each; the
// 8-bit elements and bf16 also take several vectors at once, which fill a whole one.
// Pointers need no alignment; they are typed for width only.
#if defined(RESTRIDE_CPU_CAST_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_NARROW_INL_H_
#undef RESTRIDE_CPU_CAST_NARROW_INL_H_
#else
#define RESTRIDE_CPU_CAST_NARROW_INL_H_
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

template <class Dst>
struct Narrow;

template <>
struct Narrow<float> {
  static HWY_INLINE void store(Vec v, void* p) { hn::StoreU(v, Floats(), static_cast<float*>(p)); }
};
template <>
struct Narrow<double> {
  static HWY_INLINE void store(Vec v, void* p) {
    const hn::Half<Floats> dh;
    const hn::Repartition<double, Floats> dd;
    auto* to = static_cast<double*>(p);
    hn::StoreU(hn::PromoteTo(dd, hn::LowerHalf(dh, v)), dd, to);
    hn::StoreU(hn::PromoteTo(dd, hn::UpperHalf(dh, v)), dd, to + hn::Lanes(dd));
  }
};
template <class Int>
struct NarrowLong {
  static HWY_INLINE void store(Vec v, void* p) {
    const hn::Half<Floats> dh;
    const Doubles dd;
    const Longs du;
    auto* to = static_cast<std::uint64_t*>(p);
    hn::StoreU(truncate_saturated<Int>(hn::PromoteTo(dd, hn::LowerHalf(dh, v))), du, to);
    hn::StoreU(truncate_saturated<Int>(hn::PromoteTo(dd, hn::UpperHalf(dh, v))), du, to + hn::Lanes(du));
  }
};
template <>
struct Narrow<std::int64_t> : NarrowLong<std::int64_t> {};
template <>
struct Narrow<std::uint64_t> : NarrowLong<std::uint64_t> {};
template <>
struct Narrow<std::uint32_t> {
  static HWY_INLINE void store(Vec v, void* p) {
    hn::StoreU(truncate_saturated_u32(v), Words(), static_cast<std::uint32_t*>(p));
  }
};
template <>
struct Narrow<std::int32_t> {
  static HWY_INLINE void store(Vec v, void* p) {
    const Floats df;
    const Ints di;
    const auto beyond = hn::RebindMask(di, hn::Ge(v, hn::Set(df, 2147483648.0f)));
    const auto exact = truncate_within(v, -2147483648.0f, 2147483520.0f);  // the largest float below 2^31
    hn::StoreU(hn::IfThenElse(beyond, hn::Set(di, 0x7fff'ffff), exact), di, static_cast<std::int32_t*>(p));
  }
};
template <class Int>
struct Narrow16 {
  static HWY_INLINE void store(Vec v, void* p) {
    const auto whole = truncate_within(v, hwy::LimitsMin<Int>(), hwy::LimitsMax<Int>());
    hn::StoreU(hn::DemoteTo(Lane<Int>(), whole), Lane<Int>(), static_cast<Int*>(p));
  }
};
template <>
struct Narrow<std::uint16_t> : Narrow16<std::uint16_t> {};
template <>
struct Narrow<std::int16_t> : Narrow16<std::int16_t> {};

#if RESTRIDE_HARDWARE_F16
template <>
struct Narrow<base::F16> {
  static HWY_INLINE void store(Vec v, void* p) {
    const auto halves = hn::DemoteTo(Lane<hwy::float16_t>(), v);
    const Lane<std::uint16_t> d16;
    hn::StoreU(hn::BitCast(d16, halves), d16, static_cast<std::uint16_t*>(p));
  }
};
#else
template <>
struct Narrow<base::F16> {
  static HWY_INLINE void store(Vec v, void* p) {
    const Lane<std::uint16_t> d16;
    hn::StoreU(hn::DemoteTo(d16, narrow_codes<base::F16>(v)), d16, static_cast<std::uint16_t*>(p));
  }
};
#endif

template <>
struct Narrow<base::BF16> {
  static HWY_INLINE void store(Vec v, void* p) {
    const Lane<std::uint16_t> d16;
    const auto codes = hn::BitCast(Ints(), hn::ShiftRight<16>(round_to_bf16(v)));
    hn::StoreU(hn::DemoteTo(d16, codes), d16, static_cast<std::uint16_t*>(p));
  }
#if !HWY_HAVE_SCALABLE
  static HWY_INLINE void store(Vec v0, Vec v1, void* p) {
    hn::StoreU(pack_upper_halves(round_to_bf16(v0), round_to_bf16(v1)), Words(), static_cast<std::uint32_t*>(p));
  }
#endif
};

/// Bytes from `codes`, which gives a value in [0, 256) for each lane.
template <class Dst>
struct Codes;
template <class Small>
struct CodesOfSmallFloat {
  static HWY_INLINE hn::Vec<Ints> of(Vec v) { return narrow_codes<Small>(v); }
};
template <>
struct Codes<base::F8E4M3> : CodesOfSmallFloat<base::F8E4M3> {};
template <>
struct Codes<base::F8E5M2> : CodesOfSmallFloat<base::F8E5M2> {};
template <>
struct Codes<std::uint8_t> {
  static HWY_INLINE hn::Vec<Ints> of(Vec v) { return truncate_within(v, 0.0f, 255.0f); }
};
template <>
struct Codes<std::int8_t> {
  static HWY_INLINE hn::Vec<Ints> of(Vec v) {
    return hn::And(truncate_within(v, -128.0f, 127.0f), hn::Set(Ints(), 0xff));
  }
};
template <>
struct Codes<base::Bool> {
  static HWY_INLINE hn::Vec<Ints> of(Vec v) {
    const auto is_zero = hn::RebindMask(Ints(), hn::Eq(v, hn::Zero(Floats())));
    return hn::IfThenZeroElse(is_zero, hn::Set(Ints(), 1));
  }
};
template <class Dst>
struct NarrowBytes {
  static HWY_INLINE void store(Vec v, void* p) {
    const Lane<std::uint8_t> d8;
    hn::StoreU(hn::DemoteTo(d8, Codes<Dst>::of(v)), d8, static_cast<std::uint8_t*>(p));
  }
#if !HWY_HAVE_SCALABLE
  static HWY_INLINE void store(Vec v0, Vec v1, Vec v2, Vec v3, void* p) {
#if HWY_TARGET <= HWY_AVX3_DL
    if constexpr (base::kIsSmallFloat<Dst>)
      return hn::StoreU(narrow_bytes<Dst>(v0, v1, v2, v3), Words(), static_cast<std::uint32_t*>(p));
#endif
    const auto bytes = pack_bytes(Codes<Dst>::of(v0), Codes<Dst>::of(v1), Codes<Dst>::of(v2), Codes<Dst>::of(v3));
    hn::StoreU(bytes, Words(), static_cast<std::uint32_t*>(p));
  }
#endif
};
template <>
struct Narrow<std::uint8_t> : NarrowBytes<std::uint8_t> {};
template <>
struct Narrow<std::int8_t> : NarrowBytes<std::int8_t> {};
template <>
struct Narrow<base::Bool> : NarrowBytes<base::Bool> {};
template <>
struct Narrow<base::F8E4M3> : NarrowBytes<base::F8E4M3> {};
template <>
struct Narrow<base::F8E5M2> : NarrowBytes<base::F8E5M2> {};

#endif  // a target with vectors
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
