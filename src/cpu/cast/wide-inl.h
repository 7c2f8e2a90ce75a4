// Vectors of doubles and of 32- and 64-bit integers, lane by lane: the steps of casts that a float has no room for.
// x86 converts 64-bit integers from AVX-512 on; elsewhere they are taken in halves.
#if defined(RESTRIDE_CPU_CAST_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_WIDE_INL_H_
#undef RESTRIDE_CPU_CAST_WIDE_INL_H_
#else
#define RESTRIDE_CPU_CAST_WIDE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "src/cpu/cast/codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using Doubles = hn::Repartition<double, Floats>;  // half as many lanes as Floats
using Longs = hn::Repartition<std::uint64_t, Floats>;
using DVec = hn::Vec<Doubles>;

inline constexpr std::uint64_t kLowHalf = 0xffff'ffff;
// A number below 2^32 in the lowest bits of one of these doubles is added to it: 2^52 and 2^84.
inline constexpr std::uint64_t kPlace52 = 0x4330'0000'0000'0000;
inline constexpr std::uint64_t kPlace84 = 0x4530'0000'0000'0000;

/// The double nearest to each 64-bit Int. Its halves are exact doubles, each at its place; adding them rounds once.
template <class Int>
HWY_INLINE DVec nearest_double(hn::Vec<Longs> value) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_signed_v<Int>)
    return DVec{_mm512_cvtepi64_pd(value.raw)};
  else
    return DVec{_mm512_cvtepu64_pd(value.raw)};
#else
  const Longs du;
  const Doubles dd;
  // The sign bit flipped makes a signed high half 2^31 too large, and not negative.
  constexpr std::uint64_t kFlipped = std::is_signed_v<Int> ? 0x8000'0000 : 0;
  const auto bias = hn::Set(dd, 0x1p84 + 0x1p52 + static_cast<double>(kFlipped) * 0x1p32);
  const auto high = hn::BitCast(dd, hn::Xor(hn::ShiftRight<32>(value), hn::Set(du, kPlace84 ^ kFlipped)));
  const auto low = hn::BitCast(dd, hn::Or(hn::And(value, hn::Set(du, kLowHalf)), hn::Set(du, kPlace52)));
  return hn::Add(hn::Sub(high, bias), low);
#endif
}

/// The same for 32 bits and float.
HWY_INLINE Vec nearest_float(hn::Vec<Words> value) {
  const Words du;
  const Floats df;
  const auto high = hn::BitCast(df, hn::Or(hn::ShiftRight<16>(value), hn::Set(du, 0x5300'0000)));           // 2^39 +
  const auto low = hn::BitCast(df, hn::Or(hn::And(value, hn::Set(du, 0xffff)), hn::Set(du, 0x4b00'0000)));  // 2^23 +
  return hn::Add(hn::Sub(high, hn::Set(df, 0x1p39f + 0x1p23f)), low);
}

/// `value` where its magnitude is below 2^kExact; elsewhere its lowest kBits bits become their middle, or 0 if they
/// are. What rounds far above them afterwards rounds to the same.
template <class Int, int kExact, int kBits, class D>
HWY_INLINE hn::Vec<D> gather_low_bits(D du, hn::Vec<D> value) {
  using U = hn::TFromD<D>;
  constexpr U kLow = (U{1} << kBits) - 1;
  const auto low = hn::Set(du, kLow);
  const auto any = hn::And(hn::Add(hn::And(value, low), low), hn::Set(du, kLow + 1));
  const auto gathered = hn::Or(hn::AndNot(low, value), hn::ShiftRight<1>(any));
  auto magnitude = value;
  if constexpr (std::is_signed_v<Int>) {
    const hn::RebindToSigned<D> di;
    magnitude = hn::Xor(value, hn::BitCast(du, hn::BroadcastSignBit(hn::BitCast(di, value))));
  }
  return hn::IfThenElse(hn::Eq(hn::ShiftRight<kExact>(magnitude), hn::Zero(du)), value, gathered);
}

/// A double with all that a rounding to float or bf16 looks at, for each 64-bit Int.
template <class Int>
HWY_INLINE DVec sticky_double(hn::Vec<Longs> value) {
  return nearest_double<Int>(gather_low_bits<Int, 53, 12>(Longs(), value));
}
/// A float with all that a rounding to bf16 looks at, for each 32-bit Int.
template <class Int>
HWY_INLINE Vec sticky_float(hn::Vec<Words> value) {
  const auto gathered = gather_low_bits<Int, 24, 9>(Words(), value);
  if constexpr (std::is_signed_v<Int>)
    return hn::ConvertTo(Floats(), hn::BitCast(Ints(), gathered));
  else
    return nearest_float(gathered);
}

/// Two vectors of doubles as one of floats, to nearest.
HWY_INLINE Vec to_floats(DVec v0, DVec v1) {
  const hn::Half<Floats> dh;
  return hn::Combine(Floats(), hn::DemoteTo(dh, v1), hn::DemoteTo(dh, v0));
}
/// Two vectors of 64-bit Ints as one of floats, to nearest.
template <class Int>
HWY_INLINE Vec nearest_floats(hn::Vec<Longs> v0, hn::Vec<Longs> v1) {
#if HWY_TARGET <= HWY_AVX3
  using Half = hn::Vec<hn::Half<Floats>>;
  if constexpr (std::is_signed_v<Int>)
    return hn::Combine(Floats(), Half{_mm512_cvtepi64_ps(v1.raw)}, Half{_mm512_cvtepi64_ps(v0.raw)});
  else
    return hn::Combine(Floats(), Half{_mm512_cvtepu64_ps(v1.raw)}, Half{_mm512_cvtepu64_ps(v0.raw)});
#else
  return to_floats(sticky_double<Int>(v0), sticky_double<Int>(v1));
#endif
}

/// Two vectors of 64-bit Ints as one of floats, each the next one towards zero, its last bit set when anything was cut
/// off: base::to_odd for what is as large as an integer.
template <class Int>
HWY_INLINE Vec odd_floats(hn::Vec<Longs> v0, hn::Vec<Longs> v1) {
#if HWY_TARGET <= HWY_AVX3
  const auto half = [](hn::Vec<Longs> v) HWY_ATTR {
    constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    __m256 cut;
    __m512i back;
    if constexpr (std::is_signed_v<Int>) {
      cut = _mm512_cvt_roundepi64_ps(v.raw, kTowardsZero);
      back = _mm512_cvttps_epi64(cut);
    } else {
      cut = _mm512_cvt_roundepu64_ps(v.raw, kTowardsZero);
      back = _mm512_cvttps_epu64(cut);
    }
    const __m256i bits = _mm256_castps_si256(cut);
    const __mmask8 inexact = _mm512_cmpneq_epi64_mask(back, v.raw);
    return hn::Vec<hn::Half<Floats>>{
        _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1)))};
  };
  return hn::Combine(Floats(), half(v1), half(v0));
#else
  const auto odd = [](hn::Vec<Longs> v) HWY_ATTR {
    const Longs du;
    constexpr std::uint64_t kCut = (std::uint64_t{1} << 29) - 1;  // what a double has more than a float
    const auto cut = hn::Set(du, kCut);
    const auto bits = hn::BitCast(du, sticky_double<Int>(v));
    const auto any = hn::And(hn::Add(hn::And(bits, cut), cut), hn::Set(du, kCut + 1));
    return hn::BitCast(Doubles(), hn::Or(hn::AndNot(cut, bits), any));
  };
  return to_floats(odd(v0), odd(v1));
#endif
}

namespace detail {
/// 0 where `near` is the value, 1 where it lies below it in magnitude, 3 above. NaN is its own.
HWY_INLINE DVec odd_flags(hn::Vec<hn::Half<Floats>> near, DVec value) {
  const Doubles dd;
  const auto back = hn::Abs(hn::PromoteTo(dd, near));
  const auto magnitude = hn::Abs(value);
  return hn::Or(hn::IfThenElseZero(hn::Lt(back, magnitude), hn::Set(dd, 1.0)),
                hn::IfThenElseZero(hn::Lt(magnitude, back), hn::Set(dd, 3.0)));
}
}  // namespace detail

/// base::to_odd: the float next to each double towards zero, its last bit set when anything was cut off.
HWY_INLINE Vec to_odd_floats(DVec v0, DVec v1) {
#if HWY_TARGET <= HWY_AVX3
  const auto half = [](DVec v) HWY_ATTR {
    const __m256 cut = _mm512_cvt_roundpd_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256i bits = _mm256_castps_si256(cut);
    const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), v.raw, _CMP_NEQ_OQ);
    return hn::Vec<hn::Half<Floats>>{
        _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1)))};
  };
  return hn::Combine(Floats(), half(v1), half(v0));
#else
  const Floats df;
  const Ints di;
  const hn::Half<Floats> dh;
  const auto near0 = hn::DemoteTo(dh, v0);
  const auto near1 = hn::DemoteTo(dh, v1);
  const auto flag = hn::ConvertTo(di, to_floats(detail::odd_flags(near0, v0), detail::odd_flags(near1, v1)));
  const auto near = hn::BitCast(di, hn::Combine(df, near1, near0));
  const auto towards_zero = hn::Sub(near, hn::ShiftRight<1>(flag));
  return hn::BitCast(df, hn::Or(towards_zero, hn::And(flag, hn::Set(di, 1))));
#endif
}

/// base::truncate_saturated of doubles, to 64 bits.
template <class Int>
HWY_INLINE hn::Vec<Longs> truncate_saturated(DVec value) {
  const Doubles dd;
  const Longs du;
  constexpr double kLowest = std::is_signed_v<Int> ? -0x1p63 : 0.0;
  constexpr double kBeyond = std::is_signed_v<Int> ? 0x1p63 : 0x1p64;
  const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
  const auto clamped = hn::Max(number, hn::Set(dd, kLowest));
  const auto beyond = hn::RebindMask(du, hn::Ge(clamped, hn::Set(dd, kBeyond)));
#if HWY_TARGET <= HWY_AVX3
  hn::Vec<Longs> bits;
  if constexpr (std::is_signed_v<Int>)
    bits = hn::Vec<Longs>{_mm512_cvttpd_epi64(clamped.raw)};
  else
    bits = hn::Vec<Longs>{_mm512_cvttpd_epu64(clamped.raw)};
#else
  const auto whole = hn::Trunc(clamped);
  // Halves of 32 bits, each where its lowest bits are a double's; 1.5 leaves room for a negative one.
  const auto high = hn::Floor(hn::Mul(whole, hn::Set(dd, 0x1p-32)));
  const auto low = hn::Sub(whole, hn::Mul(high, hn::Set(dd, 0x1p32)));
  const auto high_bits = hn::BitCast(du, hn::Add(high, hn::Set(dd, 0x1.8p52)));
  const auto low_bits = hn::BitCast(du, hn::Add(low, hn::Set(dd, 0x1p52)));
  const auto bits = hn::Or(hn::ShiftLeft<32>(high_bits), hn::And(low_bits, hn::Set(du, kLowHalf)));
#endif
  return hn::IfThenElse(beyond, hn::Set(du, static_cast<std::uint64_t>(hwy::LimitsMax<Int>())), bits);
}

/// The same of floats to u32.
HWY_INLINE hn::Vec<Words> truncate_saturated_u32(Vec value) {
  const Floats df;
  const Words du;
  const auto positive = hn::Max(hn::IfThenElseZero(hn::Eq(value, value), value), hn::Zero(df));
  const auto half = hn::Set(df, 0x1p31f);
  const auto upper = hn::Ge(positive, half);  // from there on floats are whole, and without 2^31 fit an i32
  const auto lower_bits = hn::BitCast(du, truncate(hn::Sub(positive, hn::IfThenElseZero(upper, half))));
  const auto top = hn::IfThenElseZero(hn::RebindMask(du, upper), hn::Set(du, 0x8000'0000u));
  const auto beyond = hn::RebindMask(du, hn::Ge(positive, hn::Set(df, 0x1p32f)));
  return hn::IfThenElse(beyond, hn::Set(du, 0xffff'ffffu), hn::Or(lower_bits, top));
}

// ---- Casts between f64 and integers of 4 and 8 bytes, half a vector's worth of 4-byte elements at a time ----

template <class Int>
struct WidenToDouble {
  static HWY_INLINE DVec load(const void* p) {
    const Doubles dd;
    const Longs du;
    if constexpr (sizeof(Int) == 8) {
      return nearest_double<Int>(hn::LoadU(du, static_cast<const std::uint64_t*>(p)));
    } else if constexpr (std::is_signed_v<Int>) {
      return hn::PromoteTo(dd, hn::LoadU(hn::Rebind<std::int32_t, Doubles>(), static_cast<const std::int32_t*>(p)));
    } else {
      const auto words = hn::LoadU(hn::Rebind<std::uint32_t, Doubles>(), static_cast<const std::uint32_t*>(p));
      const auto placed = hn::Or(hn::PromoteTo(du, words), hn::Set(du, kPlace52));
      return hn::Sub(hn::BitCast(dd, placed), hn::Set(dd, 0x1p52));
    }
  }
};

template <class Int>
struct NarrowFromDouble {
  static HWY_INLINE void store(DVec v, void* p) {
    const Doubles dd;
    const Longs du;
    if constexpr (sizeof(Int) == 8) {
      hn::StoreU(truncate_saturated<Int>(v), du, static_cast<std::uint64_t*>(p));
    } else {
      const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
      const auto within =
          hn::Min(hn::Max(number, hn::Set(dd, hwy::LimitsMin<Int>())), hn::Set(dd, hwy::LimitsMax<Int>()));
      const hn::Rebind<Int, Doubles> d32;
      if constexpr (std::is_signed_v<Int>)
        hn::StoreU(hn::DemoteTo(d32, within), d32, static_cast<Int*>(p));
      else
        hn::StoreU(hn::TruncateTo(d32, hn::BitCast(du, hn::Add(hn::Trunc(within), hn::Set(dd, 0x1p52)))), d32,
                   static_cast<Int*>(p));
    }
  }
};

#endif  // a target with vectors
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
