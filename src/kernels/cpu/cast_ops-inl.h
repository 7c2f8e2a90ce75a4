// Vector casts through float: `Widen<Src>::load` reads N elements as float, `Narrow<Dst>::store` writes N floats.
//
// Every source but i32 and f64 is exact in a float, so a pair of the two halves rounds once, as base::convert does.
// The steps are those of base/small_float.h, lane by lane. Pointers need no alignment; they are typed for width only.
#if defined(RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#undef RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_CAST_OPS_INL_H_
#endif

#include <array>
#include <cstdint>

#include <hwy/highway.h>

#include "src/base/small_float.h"
#include "src/base/storage.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;
template <class T>
using Lane = hn::Rebind<T, Floats>;  // as many lanes of T as Floats has
using Words = Lane<std::uint32_t>;
using Ints = Lane<std::int32_t>;

// vcvtph2ps and vcvtps2ph, and their Arm twins, do what small_float.h does, NaN included. Highway's stand-ins for
// older machines do not.
#undef RESTRIDE_HARDWARE_F16
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define RESTRIDE_HARDWARE_F16 1
#else
#define RESTRIDE_HARDWARE_F16 0
#endif

/// A 16- or 8-bit code in each 32-bit lane to the float it stands for: base::widen.
template <class Small>
HWY_INLINE Vec widen_codes(hn::Vec<Words> codes) {
  using F = base::Format<Small>;
  const Words du;
  const Floats df;
  const auto magnitude = hn::And(codes, hn::Set(du, F::kMagnitude));
  const auto sign = hn::And(hn::ShiftLeft<31 - F::kSignShift>(codes), hn::Set(du, base::kSign32));
  const auto shifted = hn::ShiftLeft<F::kShift>(magnitude);
  const auto lowest = hn::Set(du, F::kMinNormal32);
  const auto subnormal = hn::Sub(hn::BitCast(df, hn::Add(shifted, lowest)), hn::BitCast(df, lowest));
  const auto normal = hn::BitCast(df, hn::Add(shifted, hn::Set(du, F::kRebias)));
  // Codes are small, so signed comparisons do, which SSE and AVX2 have.
  const Ints di;
  const auto code = hn::BitCast(di, magnitude);
  const auto is_subnormal = hn::Lt(code, hn::Set(di, 1 << F::kMantissaBits));
  auto value = hn::BitCast(du, hn::IfThenElse(hn::RebindMask(df, is_subnormal), subnormal, normal));
  constexpr auto kAbove = static_cast<std::int32_t>(F::kMaxFinite);
  const auto special = hn::RebindMask(du, hn::Gt(code, hn::Set(di, kAbove)));
  if constexpr (F::kHasInfinity) {
    const auto nan = hn::RebindMask(du, hn::Gt(code, hn::Set(di, kAbove + 1)));
    const auto quiet = hn::IfThenElseZero(nan, hn::Set(du, base::kQuiet32));
    value = hn::Or(value, hn::IfThenElseZero(special, hn::Or(quiet, hn::Set(du, base::kInf32))));
  } else {
    value = hn::IfThenElse(special, hn::Set(du, base::kInf32 | base::kQuiet32), value);
  }
  return hn::BitCast(df, hn::Or(value, sign));
}

/// A float to the code of the nearest Small in each 32-bit lane: base::narrow for the formats narrower than float's
/// exponent (all but bf16). NaN needs no look of its own where overflow is NaN.
template <class Small>
HWY_INLINE hn::Vec<Ints> narrow_codes(Vec value) {
  using F = base::Format<Small>;
  const Words du;
  const Floats df;
  const Ints di;
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, ~base::kSign32));
  const auto truncated = hn::ShiftRight<F::kShift>(magnitude);
  const auto odd = hn::And(truncated, hn::Set(du, 1));
  const auto round_up = hn::Set(du, (1u << (F::kShift - 1)) - 1 - F::kRebias);
  const auto rounded = hn::ShiftRight<F::kShift>(hn::Add(hn::Add(magnitude, round_up), odd));
  const auto aligner = hn::Set(du, F::kMinNormal32 + (static_cast<std::uint32_t>(F::kShift) << 23));
  const auto aligned = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, aligner));
  const auto subnormal = hn::Sub(hn::BitCast(du, aligned), aligner);
  const auto magnitude_i = hn::BitCast(di, magnitude);  // not negative, so signed comparisons do
  const auto is_subnormal = hn::Lt(magnitude_i, hn::Set(di, static_cast<std::int32_t>(F::kMinNormal32)));
  auto code = hn::Min(hn::IfThenElse(hn::RebindMask(du, is_subnormal), subnormal, rounded), hn::Set(du, F::kOverflow));
  if constexpr (F::kHasInfinity) {
    const auto is_nan = hn::RebindMask(du, hn::Gt(magnitude_i, hn::Set(di, static_cast<std::int32_t>(base::kInf32))));
    const auto payload = hn::Or(truncated, hn::Set(du, F::kQuiet));
    code = hn::IfThenElse(is_nan, hn::And(payload, hn::Set(du, F::kMagnitude)), code);
  }
  const auto sign = hn::And(hn::ShiftRight<31 - F::kSignShift>(bits), hn::Set(du, F::kMagnitude + 1));
  return hn::BitCast(di, hn::Or(code, sign));
}

/// A float whose upper 16 bits are the nearest bf16; the lower ones are left over.
HWY_INLINE hn::Vec<Words> round_to_bf16(Vec value) {
  const Words du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd);
  const auto is_number = hn::RebindMask(du, hn::Eq(value, value));
  return hn::IfThenElse(is_number, rounded, hn::Or(bits, hn::Set(du, base::kQuiet32)));
}

/// `value` without its fraction, in range by promise; Highway's ConvertTo spends three steps on those that are not.
HWY_INLINE hn::Vec<Ints> truncate(Vec value) {
#if HWY_TARGET <= HWY_AVX3
  return hn::Vec<Ints>{_mm512_cvttps_epi32(value.raw)};
#elif HWY_TARGET <= HWY_AVX2
  return hn::Vec<Ints>{_mm256_cvttps_epi32(value.raw)};
#elif HWY_ARCH_X86
  return hn::Vec<Ints>{_mm_cvttps_epi32(value.raw)};
#else
  return hn::ConvertTo(Ints(), value);
#endif
}

/// `value` without its fraction, clamped to [low, high], NaN to 0. Both bounds are exact floats.
HWY_INLINE hn::Vec<Ints> truncate_within(Vec value, float low, float high) {
  const Floats df;
  const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
  return truncate(hn::Min(hn::Max(number, hn::Set(df, low)), hn::Set(df, high)));
}

// ---- Several vectors of codes to one of narrower lanes. DemoteTo would shuffle each vector on its own. ----

#if !HWY_HAVE_SCALABLE
/// Four vectors of codes below 256 to one vector of bytes, in order.
HWY_INLINE hn::Vec<Words> pack_bytes(hn::Vec<Ints> a, hn::Vec<Ints> b, hn::Vec<Ints> c, hn::Vec<Ints> d) {
  const Words du;
  const hn::Repartition<std::uint8_t, Words> d8;
  const auto ab = hn::Or(hn::BitCast(du, a), hn::ShiftLeft<8>(hn::BitCast(du, b)));
  const auto cd = hn::Or(hn::ShiftLeft<16>(hn::BitCast(du, c)), hn::ShiftLeft<24>(hn::BitCast(du, d)));
  alignas(16) static constexpr std::uint8_t kBytes[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto by_block = hn::TableLookupBytes(hn::BitCast(d8, hn::Or(ab, cd)), hn::LoadDup128(d8, kBytes));
  constexpr std::uint32_t kBlocks = HWY_MAX_BYTES / 16;
  if constexpr (kBlocks == 1) return hn::BitCast(du, by_block);
  // Word v of block k holds bytes of vector v.
  alignas(64) static constexpr auto kWords = [] {
    std::array<std::uint32_t, 4 * kBlocks> words{};
    for (std::uint32_t i = 0; i < 4 * kBlocks; ++i) words[i] = 4 * (i % kBlocks) + i / kBlocks;
    return words;
  }();
  return hn::TableLookupLanes(hn::BitCast(du, by_block), hn::SetTableIndices(du, kWords.data()));
}

/// The upper halves of the words of two vectors as one vector of 16-bit codes, in order.
HWY_INLINE hn::Vec<Words> pack_upper_halves(hn::Vec<Words> a, hn::Vec<Words> b) {
  const Words du;
  const hn::Repartition<std::uint16_t, Words> d16;
  const hn::Repartition<std::uint8_t, Words> d8;
  const auto both = hn::OddEven(hn::BitCast(d16, b), hn::BitCast(d16, hn::ShiftRight<16>(a)));
  alignas(16) static constexpr std::uint8_t kBytes[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
  const auto by_block = hn::TableLookupBytes(hn::BitCast(d8, both), hn::LoadDup128(d8, kBytes));
  constexpr std::uint32_t kBlocks = HWY_MAX_BYTES / 16;
  if constexpr (kBlocks == 1) return hn::BitCast(du, by_block);
  // Words 2v and 2v + 1 of block k hold codes of vector v.
  alignas(64) static constexpr auto kWords = [] {
    std::array<std::uint32_t, 4 * kBlocks> words{};
    for (std::uint32_t i = 0; i < 4 * kBlocks; ++i) words[i] = 4 * (i / 2 % kBlocks) + 2 * (i / 2 / kBlocks) + i % 2;
    return words;
  }();
  return hn::TableLookupLanes(hn::BitCast(du, by_block), hn::SetTableIndices(du, kWords.data()));
}
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
