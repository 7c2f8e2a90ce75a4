// Tiles that are one dense run on both sides and repeat their order within a vector: small matrices, one behind the
// other. Each vector takes as many repeats as it holds and permutes them by one instruction, straight from src to dst.
// Of a longer repeat a vector of dst takes one permute of two vectors, or two such permutes and a blend.
// Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_REPEATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_REPEATS_INL_H_
#undef RESTRIDE_CPU_PACKED_REPEATS_INL_H_
#else
#define RESTRIDE_CPU_PACKED_REPEATS_INL_H_
#endif

#include "src/cpu/packed/inside.h"
#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// True when this instruction set permutes the bytes of a vector.
inline constexpr bool kRepeats = HWY_TARGET <= HWY_AVX3_DL;

#if HWY_TARGET <= HWY_AVX3_DL
/// `n` bytes, whole repeats, where `readable` bytes of src may be read, and as many written. A vector reaches beyond
/// the repeats that it holds, and the next one writes them anew; what would reach beyond `readable` goes by way of a
/// buffer.
HWY_NOINLINE void move_short_repeats(const VectorRepeats& r, const std::uint8_t* HWY_RESTRICT from,
                                     std::uint8_t* HWY_RESTRICT to, std::int64_t n, std::int64_t readable) noexcept {
  const hn::CappedTag<std::uint8_t, VectorRepeats::kVectorBytes> d;
  const auto index = hn::Load(d, r.index[0]);
  const std::int64_t step = r.bytes;
  const auto permuted = [&](const std::uint8_t* at) RESTRIDE_INLINE_LAMBDA {
    const auto v = hn::LoadU(d, at);
    return permute_into(v, ~std::uint64_t{0}, index, v);
  };
  std::int64_t i = 0;
  const std::int64_t vectors_end = std::min(n, readable - VectorRepeats::kVectorBytes + 1);
  for (; i < vectors_end; i += step) store(permuted(from + i), d, to + i);
  alignas(64) std::uint8_t last[VectorRepeats::kVectorBytes] = {};
  for (; i < n; i += step) {
    const auto rest = static_cast<std::size_t>(std::min(step, n - i));
    std::memcpy(last, from + i, rest);
    store(permuted(last), d, last);
    std::memcpy(to + i, last, rest);
  }
}

/// The same where a repeat takes several vectors, which end where it does.
template <std::size_t... I>
HWY_NOINLINE void move_long_repeats(const VectorRepeats& r, const std::uint8_t* HWY_RESTRICT from,
                                    std::uint8_t* HWY_RESTRICT to, std::int64_t n, std::index_sequence<I...>) noexcept {
  constexpr std::size_t kVectors = sizeof...(I);
  const hn::CappedTag<std::uint8_t, VectorRepeats::kVectorBytes> d;
  using V = hn::Vec<decltype(d)>;
  const V index[kVectors] = {hn::Load(d, r.index[I])...};
  const std::int64_t step = r.bytes, start[kVectors] = {r.start(I)...};
  const std::uint64_t high[kVectors] = {r.high[I]...};
  for (std::int64_t i = 0; i < n; i += step) {
    const V in[kVectors] = {hn::LoadU(d, from + i + start[I])...};
    const auto out = [&](std::size_t v) RESTRIDE_INLINE_LAMBDA {
      const V low = permute_two(in[0], index[v], in[1]);
      if constexpr (kVectors == 2) return low;
      return V{_mm512_mask_blend_epi8(high[v], low.raw, permute_two(in[2 % kVectors], index[v], in[kVectors - 1]).raw)};
    };
    (store(out(I), d, to + i + start[I]), ...);
  }
}

/// `n` bytes, whole repeats. Reads and writes nothing beyond `readable` bytes.
HWY_INLINE void move_repeats(const VectorRepeats& r, const std::uint8_t* HWY_RESTRICT from,
                             std::uint8_t* HWY_RESTRICT to, std::int64_t n, std::int64_t readable) noexcept {
  switch (r.vectors) {
    case 1: return move_short_repeats(r, from, to, n, readable);
    case 2: return move_long_repeats(r, from, to, n, std::make_index_sequence<2>());
    case 3: return move_long_repeats(r, from, to, n, std::make_index_sequence<3>());
    default: return move_long_repeats(r, from, to, n, std::make_index_sequence<4>());
  }
}
#else
inline void move_repeats(const VectorRepeats&, const std::uint8_t*, std::uint8_t*, std::int64_t,
                         std::int64_t) noexcept {}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
