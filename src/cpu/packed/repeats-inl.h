// Tiles that are one dense run on both sides and repeat their order within a vector: small matrices, one behind the
// other. Each vector takes as many repeats as it holds and permutes them by one instruction, straight from src to dst.
// Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
/// `n` bytes, whole repeats. A vector reaches beyond those that it holds, and the next one writes them anew; the last
/// ones go by way of a buffer, so nothing outside is read or written.
HWY_NOINLINE void move_repeats(const VectorRepeats& r, const std::uint8_t* HWY_RESTRICT from,
                               std::uint8_t* HWY_RESTRICT to, std::int64_t n) noexcept {
  const hn::CappedTag<std::uint8_t, VectorRepeats::kVectorBytes> d;
  const auto index = hn::Load(d, r.index);
  const std::int64_t step = r.bytes;
  const auto permuted = [&](const std::uint8_t* at) RESTRIDE_INLINE_LAMBDA {
    const auto v = hn::LoadU(d, at);
    return permute_into(v, ~std::uint64_t{0}, index, v);
  };
  std::int64_t i = 0;
  for (; i + VectorRepeats::kVectorBytes <= n; i += step) store(permuted(from + i), d, to + i);
  alignas(64) std::uint8_t last[VectorRepeats::kVectorBytes] = {};
  for (; i < n; i += step) {
    const auto rest = static_cast<std::size_t>(std::min(step, n - i));
    std::memcpy(last, from + i, rest);
    store(permuted(last), d, last);
    std::memcpy(to + i, last, rest);
  }
}
#else
inline void move_repeats(const VectorRepeats&, const std::uint8_t*, std::uint8_t*, std::int64_t) noexcept {}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
