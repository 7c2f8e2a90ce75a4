// Casts of single bytes by a table: 256 results are few enough to lie in registers, where a permute of bytes looks up a
// whole vector of them at once. For machines with such permutes (AVX-512 VBMI).
#if defined(RESTRIDE_CPU_CAST_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CAST_BYTES_INL_H_
#undef RESTRIDE_CPU_CAST_BYTES_INL_H_
#else
#define RESTRIDE_CPU_CAST_BYTES_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "src/base/convert.h"
#include "src/base/storage.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3_DL

/// Byte `place`, from the low end, of what each byte becomes.
template <class Dst, class Src, int place>
inline constexpr auto kResults = [] {
  std::array<std::uint8_t, 256> bytes{};
  for (int i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    const Dst result = base::convert<Dst>(base::bit_cast<Src>(code));
    if constexpr (sizeof(Dst) == 4)
      bytes[i] = static_cast<std::uint8_t>(base::bit_cast<std::uint32_t>(result) >> 8 * place);
    else if constexpr (sizeof(Dst) == 2)
      bytes[i] = static_cast<std::uint8_t>(base::bit_cast<std::uint16_t>(result) >> 8 * place);
    else
      bytes[i] = base::bit_cast<std::uint8_t>(result);
  }
  return bytes;
}();

inline constexpr std::array<std::uint8_t, 256> kZeros{};

/// 256 bytes in four registers; in two where the second half equals the first one, or has only its sign bits turned.
template <const std::array<std::uint8_t, 256>& kBytes>
struct ByteTable {
  static constexpr bool is_first_half_with(std::uint8_t turned) {
    for (std::size_t i = 0; i < 128; ++i)
      if (kBytes[i + 128] != (kBytes[i] ^ turned)) return false;
    return true;
  }
  static constexpr bool kSame = is_first_half_with(0), kSigned = is_first_half_with(0x80);
  static constexpr int kRegisters = kSame || kSigned ? 2 : 4;
  __m512i registers[kRegisters];

  HWY_INLINE ByteTable() {
    for (int i = 0; i < kRegisters; ++i) registers[i] = _mm512_loadu_si512(kBytes.data() + 64 * i);
  }
  HWY_INLINE __m512i operator()(__m512i at) const {
    const __m512i first = _mm512_permutex2var_epi8(registers[0], at, registers[1]);
    if constexpr (kSame) return first;
    constexpr int kFirstTurnedByCommon = 0x78;  // the first one, its bits turned that are set in both others
    if constexpr (kSigned)
      return _mm512_ternarylogic_epi32(first, at, _mm512_set1_epi8(static_cast<char>(0x80)), kFirstTurnedByCommon);
    const __m512i second = _mm512_permutex2var_epi8(registers[kRegisters - 2], at, registers[kRegisters - 1]);
    return _mm512_mask_mov_epi8(first, _mm512_movepi8_mask(at), second);
  }
};

/// n bytes become elements of 1, 2 or 4 bytes. The two lowest of 4 bytes are 0: a float needs no more for what a byte
/// may hold.
template <class Dst, class Src>
void cast_bytes(void* dst_data, const void* src_data, std::size_t n) {
  static_assert(sizeof(Src) == 1 && sizeof(Dst) <= 4);
  auto* dst = static_cast<std::byte*>(dst_data);
  const auto* src = static_cast<const std::byte*>(src_data);
  const auto store = [&](std::size_t first, std::size_t count, __m512i v) HWY_ATTR {
    // Elements first to first + 64 / sizeof(Dst), as far as there are that many.
    constexpr std::size_t kLanes = 64 / sizeof(Dst);
    if (count >= first + kLanes) {
      _mm512_storeu_si512(dst + first * sizeof(Dst), v);
    } else if (count > first) {
      const std::uint64_t bytes = (std::uint64_t{1} << (count - first) * sizeof(Dst)) - 1;
      _mm512_mask_storeu_epi8(dst + first * sizeof(Dst), bytes, v);
    }
  };
  constexpr int kHigh = static_cast<int>(sizeof(Dst)) - 1;
  static_assert(sizeof(Dst) < 4 || (kResults<Dst, Src, 0> == kZeros && kResults<Dst, Src, 1> == kZeros));
  const ByteTable<kResults<Dst, Src, kHigh>> high;
  [[maybe_unused]] const ByteTable<sizeof(Dst) == 1 ? kZeros : kResults<Dst, Src, kHigh - 1>> low;
  // Unpacking works within blocks of 16 bytes: each takes its part of every vector that leaves.
  const __m512i halves = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i quarters = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  while (n != 0) {
    const std::size_t count = n < 64 ? n : 64;
    __m512i v = count == 64 ? _mm512_loadu_si512(src) : _mm512_maskz_loadu_epi8((std::uint64_t{1} << count) - 1, src);
    if constexpr (sizeof(Dst) == 1) {
      store(0, count, high(v));
    } else {
      v = _mm512_permutexvar_epi32(sizeof(Dst) == 2 ? halves : quarters, v);
      const __m512i lows = low(v), highs = high(v);
      const __m512i first = _mm512_unpacklo_epi8(lows, highs), second = _mm512_unpackhi_epi8(lows, highs);
      if constexpr (sizeof(Dst) == 2) {
        store(0, count, first);
        store(32, count, second);
      } else {
        const __m512i zero = _mm512_setzero_si512();
        store(0, count, _mm512_unpacklo_epi16(zero, first));
        store(16, count, _mm512_unpackhi_epi16(zero, first));
        store(32, count, _mm512_unpacklo_epi16(zero, second));
        store(48, count, _mm512_unpackhi_epi16(zero, second));
      }
    }
    src += count;
    dst += count * sizeof(Dst);
    n -= count;
  }
}

#endif  // permutes of bytes
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();
#endif  // include guard
