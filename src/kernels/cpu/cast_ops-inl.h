// Vector casts through float: `Widen<Src>::load` reads N elements as float, `Narrow<Dst>::store` writes N floats.
//
// Every source but i32 and f64 is exact in a float, so a pair of the two halves rounds once, as base::convert does.
// f64 goes to what is narrower than float by `WidenToOdd`, which loses nothing that their rounding looks at.
// Pointers need no alignment; they are typed for width only.
#if defined(RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#undef RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "src/base/storage.h"
#include "src/kernels/cpu/cast_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// vcvtph2ps and vcvtps2ph, and their Arm twins, do what small_float.h does, NaN included. Highway's stand-ins for
// older machines do not.
#undef RESTRIDE_HARDWARE_F16
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define RESTRIDE_HARDWARE_F16 1
#else
#define RESTRIDE_HARDWARE_F16 0
#endif

// ---- Sources ----

template <class Src>
struct Widen;

template <>
struct Widen<float> {
  static HWY_INLINE Vec load(const void* p) { return hn::LoadU(Floats(), static_cast<const float*>(p)); }
};
template <>
struct Widen<double> {
  static HWY_INLINE Vec load(const void* p) {
    const Floats df;
    const hn::Half<Floats> dh;
    const hn::Repartition<double, Floats> dd;
    const auto* from = static_cast<const double*>(p);
    const auto low = hn::DemoteTo(dh, hn::LoadU(dd, from));
    return hn::Combine(df, hn::DemoteTo(dh, hn::LoadU(dd, from + hn::Lanes(dd))), low);
  }
};
/// base::to_odd for doubles: the float next to each towards zero, its last bit set when anything was cut off.
struct WidenToOdd {
  static HWY_INLINE Vec load(const void* p) {
    const Floats df;
    const hn::Half<Floats> dh;
    const hn::Repartition<double, Floats> dd;
    const auto* from = static_cast<const double*>(p);
    const auto v0 = hn::LoadU(dd, from);
    const auto v1 = hn::LoadU(dd, from + hn::Lanes(dd));
    const auto near0 = hn::DemoteTo(dh, v0);
    const auto near1 = hn::DemoteTo(dh, v1);
    const auto flags = hn::Combine(df, hn::DemoteTo(dh, flags_of(near1, v1)), hn::DemoteTo(dh, flags_of(near0, v0)));
    const Ints di;
    const auto flag = hn::ConvertTo(di, flags);
    const auto near = hn::BitCast(di, hn::Combine(df, near1, near0));
    const auto towards_zero = hn::Sub(near, hn::ShiftRight<1>(flag));
    return hn::BitCast(df, hn::Or(towards_zero, hn::And(flag, hn::Set(di, 1))));
  }

 private:
  /// 0 where `near` is the value, 1 where it lies below it in magnitude, 3 above. NaN is its own.
  template <class HalfVec, class V>
  static HWY_INLINE V flags_of(HalfVec near, V value) {
    const hn::Repartition<double, Floats> dd;
    const auto back = hn::Abs(hn::PromoteTo(dd, near));
    const auto magnitude = hn::Abs(value);
    return hn::Or(hn::IfThenElseZero(hn::Lt(back, magnitude), hn::Set(dd, 1.0)),
                  hn::IfThenElseZero(hn::Lt(magnitude, back), hn::Set(dd, 3.0)));
  }
};
template <>
struct Widen<std::int32_t> {
  static HWY_INLINE Vec load(const void* p) {
    return hn::ConvertTo(Floats(), hn::LoadU(Ints(), static_cast<const std::int32_t*>(p)));
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
template <>
struct Widen<base::BF16> {
  static HWY_INLINE Vec load(const void* p) {
    const auto codes = hn::LoadU(Lane<std::uint16_t>(), static_cast<const std::uint16_t*>(p));
    const auto value = hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), codes)));
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

// ---- Destinations ----

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
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
