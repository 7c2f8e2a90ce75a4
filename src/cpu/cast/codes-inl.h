// Vectors of float and of the codes of narrow floats, lane by lane: base/small_float.h for a whole vector at once, and
// the packing of several vectors of codes into one. widen-inl.h and narrow-inl.h build casts from it.
#if defined(RESTRIDE_CPU_CAST_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_CODES_INL_H_
#undef RESTRIDE_CPU_CAST_CODES_INL_H_
#else
#define RESTRIDE_CPU_CAST_CODES_INL_H_
#endif

#include <array>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "src/base/small_float.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
namespace hn = hwy::HWY_NAMESPACE;

// vcvtph2ps and vcvtps2ph, and their Arm twins, do what small_float.h does, NaN included. Highway's stand-ins for
// older machines do not.
#undef RESTRIDE_HARDWARE_F16
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define RESTRIDE_HARDWARE_F16 1
#else
#define RESTRIDE_HARDWARE_F16 0
#endif

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;
template <class T>
using Lane = hn::Rebind<T, Floats>;  // as many lanes of T as Floats has
using Words = Lane<std::uint32_t>;
using Ints = Lane<std::int32_t>;

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

/// What `byte_codes` leaves to be added to the low byte of each lane.
template <class Small>
inline constexpr std::uint32_t kByteCodeBase = [] {
  using F = base::Format<Small>;
  return (static_cast<std::uint32_t>(F::kBias - 1 - F::kShift - 127) << F::kMantissaBits) & 0xff;
}();

/// Floats to the nearest 8-bit ones: in the low byte of each lane the code of the magnitude, less `kByteCodeBase`. What
/// lies above it is left over. A NaN becomes what is too large.
///
/// A power of two is added: the one below the value, or the smallest normal one, moved up by the places that are cut
/// off. The adder rounds and leaves the mantissa with its leading 1 in the lowest places. The exponent is added to it
/// where a code has it; subnormals need nothing of their own.
template <class Small>
HWY_INLINE hn::Vec<Words> byte_codes(Vec value) {
  using F = base::Format<Small>;
  const Words du;
  const Floats df;
  const Ints di;  // not negative, so signed comparisons do, which SSE and AVX2 have
  constexpr auto kTop = static_cast<std::int32_t>(F::kRebias + (F::kOverflow << F::kShift));
  const auto magnitude = hn::And(hn::BitCast(di, value), hn::Set(di, 0x7fff'ffff));
  const auto within = hn::Min(magnitude, hn::Set(di, kTop));
  const auto exponent = hn::And(within, hn::Set(di, static_cast<std::int32_t>(base::kInf32)));
  const auto power = hn::Max(exponent, hn::Set(di, static_cast<std::int32_t>(F::kMinNormal32)));
  const auto aligner = hn::Add(power, hn::Set(di, F::kShift << 23));
  const auto sum = hn::BitCast(du, hn::Add(hn::BitCast(df, within), hn::BitCast(df, aligner)));
  return hn::Add(hn::ShiftRight<F::kShift>(sum), sum);
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
  const auto magnitude_i = hn::BitCast(di, magnitude);  // not negative, so signed comparisons do
  const auto truncated = hn::ShiftRight<F::kShift>(magnitude);
  hn::Vec<Words> code;
  if constexpr (sizeof(Small) == 1) {
    code = hn::And(hn::Add(byte_codes<Small>(value), hn::Set(du, kByteCodeBase<Small>)), hn::Set(du, F::kMagnitude));
  } else {
    const auto odd = hn::And(truncated, hn::Set(du, 1));
    const auto round_up = hn::Set(du, (1u << (F::kShift - 1)) - 1 - F::kRebias);
    const auto rounded = hn::ShiftRight<F::kShift>(hn::Add(hn::Add(magnitude, round_up), odd));
    const auto aligner = hn::Set(du, F::kMinNormal32 + (static_cast<std::uint32_t>(F::kShift) << 23));
    const auto aligned = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, aligner));
    const auto subnormal = hn::Sub(hn::BitCast(du, aligned), aligner);
    const auto is_subnormal = hn::Lt(magnitude_i, hn::Set(di, static_cast<std::int32_t>(F::kMinNormal32)));
    code = hn::Min(hn::IfThenElse(hn::RebindMask(du, is_subnormal), subnormal, rounded), hn::Set(du, F::kOverflow));
  }
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
#if HWY_TARGET <= HWY_AVX3
  // Adds 0x7fff and the lowest bit that stays: subtracts -0x7fff, whose own lowest bit is turned where that one is set.
  const __m512i bits = _mm512_castps_si512(value.raw);
  const __m512i less =
      _mm512_ternarylogic_epi32(_mm512_set1_epi32(-0x7fff), _mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1), 0x78);
  const __mmask16 nan = _mm512_cmp_ps_mask(value.raw, value.raw, _CMP_UNORD_Q);
  return hn::Vec<Words>{
      _mm512_mask_or_epi32(_mm512_sub_epi32(bits, less), nan, bits, _mm512_set1_epi32(base::kQuiet32))};
#else
  const Words du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd);
  const auto is_number = hn::RebindMask(du, hn::Eq(value, value));
  return hn::IfThenElse(is_number, rounded, hn::Or(bits, hn::Set(du, base::kQuiet32)));
#endif
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
#if HWY_TARGET <= HWY_AVX3
  const auto within = hn::Min(hn::Max(value, hn::Set(df, low)), hn::Set(df, high));
  return hn::Vec<Ints>{_mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(value.raw, value.raw, _CMP_ORD_Q), within.raw)};
#else
  const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
  return truncate(hn::Min(hn::Max(number, hn::Set(df, low)), hn::Set(df, high)));
#endif
}

// ---- Several vectors of codes to one of narrower lanes. DemoteTo would shuffle each vector on its own. ----

#if !HWY_HAVE_SCALABLE
/// Four vectors of codes below 256 to one vector of bytes, in order.
HWY_INLINE hn::Vec<Words> pack_bytes(hn::Vec<Ints> a, hn::Vec<Ints> b, hn::Vec<Ints> c, hn::Vec<Ints> d) {
  const Words du;
  const hn::Repartition<std::uint8_t, Words> d8;
#if HWY_TARGET <= HWY_AVX3
  const __m512i ab = _mm512_packus_epi32(a.raw, b.raw), cd = _mm512_packus_epi32(c.raw, d.raw);
  const auto by_block = hn::BitCast(d8, hn::Vec<Words>{_mm512_packus_epi16(ab, cd)});
#else
  const auto ab = hn::Or(hn::BitCast(du, a), hn::ShiftLeft<8>(hn::BitCast(du, b)));
  const auto cd = hn::Or(hn::ShiftLeft<16>(hn::BitCast(du, c)), hn::ShiftLeft<24>(hn::BitCast(du, d)));
  alignas(16) static constexpr std::uint8_t kBytes[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto by_block = hn::TableLookupBytes(hn::BitCast(d8, hn::Or(ab, cd)), hn::LoadDup128(d8, kBytes));
#endif
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

#if HWY_TARGET <= HWY_AVX3_DL
/// Byte `place` of each word of four vectors as one vector, in order.
template <int place>
HWY_INLINE __m512i pick_bytes(__m512i a, __m512i b, __m512i c, __m512i d) {
  alignas(64) static constexpr auto kPicked = [] {
    std::array<std::uint8_t, 64> bytes{};
    for (std::uint8_t i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(4 * (i % 32) + place);
    return bytes;
  }();
  const __m512i from = _mm512_load_si512(kPicked.data());
  const __m512i cd = _mm512_permutex2var_epi8(c, from, d);
  return _mm512_mask_blend_epi64(0xf0, _mm512_permutex2var_epi8(a, from, b), cd);
}

/// Not inlined: one for all sources.
template <class Small>
HWY_NOINLINE hn::Vec<Words> narrow_with_nans(Vec v0, Vec v1, Vec v2, Vec v3) {
  return pack_bytes(narrow_codes<Small>(v0), narrow_codes<Small>(v1), narrow_codes<Small>(v2), narrow_codes<Small>(v3));
}

/// `narrow_codes` of four vectors as one vector of bytes: sign and base are put in for all of them at once.
template <class Small>
HWY_INLINE hn::Vec<Words> narrow_bytes(Vec v0, Vec v1, Vec v2, Vec v3) {
  if constexpr (base::Format<Small>::kHasInfinity) {
    const __mmask16 nan01 = _mm512_cmp_ps_mask(v0.raw, v1.raw, _CMP_UNORD_Q);
    const __mmask16 nan23 = _mm512_cmp_ps_mask(v2.raw, v3.raw, _CMP_UNORD_Q);
    if (HWY_UNLIKELY((nan01 | nan23) != 0)) return narrow_with_nans<Small>(v0, v1, v2, v3);
  }
  const __m512i sums = pick_bytes<0>(byte_codes<Small>(v0).raw, byte_codes<Small>(v1).raw, byte_codes<Small>(v2).raw,
                                     byte_codes<Small>(v3).raw);
  const __m512i signs = pick_bytes<3>(_mm512_castps_si512(v0.raw), _mm512_castps_si512(v1.raw),
                                      _mm512_castps_si512(v2.raw), _mm512_castps_si512(v3.raw));
  const __m512i codes = _mm512_add_epi8(sums, _mm512_set1_epi8(static_cast<char>(kByteCodeBase<Small>)));
  constexpr int kSecondWhereThird = 0xd8;  // the second one's bits where the third one has any, else the first one's
  return hn::Vec<Words>{
      _mm512_ternarylogic_epi32(codes, signs, _mm512_set1_epi8(static_cast<char>(0x80)), kSecondWhereThird)};
}
#endif

/// The upper halves of the words of two vectors as one vector of 16-bit codes, in order.
HWY_INLINE hn::Vec<Words> pack_upper_halves(hn::Vec<Words> a, hn::Vec<Words> b) {
#if HWY_TARGET <= HWY_AVX3
  alignas(64) static constexpr auto kUpper = [] {
    std::array<std::uint16_t, 32> halves{};
    for (std::uint16_t i = 0; i < 32; ++i) halves[i] = static_cast<std::uint16_t>(2 * i + 1);
    return halves;
  }();
  return hn::Vec<Words>{_mm512_permutex2var_epi16(a.raw, _mm512_load_si512(kUpper.data()), b.raw)};
#else
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
#endif
}
#endif

#endif  // a target with vectors
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
