// Writing lines past the caches. Included once per instruction set (Highway's -inl convention).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "src/cpu/args.h"

#if defined(RESTRIDE_CPU_SIMD_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_STREAM_INL_H_
#undef RESTRIDE_CPU_SIMD_STREAM_INL_H_
#else
#define RESTRIDE_CPU_SIMD_STREAM_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t kLine = 64;

/// How buffers are aligned in which vectors are stored off lines before they leave past the caches: a store that
/// crosses into another page waits until all lines before it have left (Zen 4: 80 ns; within a page nothing).
inline constexpr std::size_t kPage = 4096;

/// Vectors of at most one line.
using Bytes = hn::CappedTag<std::uint8_t, kLine>;

/// One line, from anywhere to an aligned place, past the caches.
HWY_INLINE void stream_line(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from) {
  const Bytes d;
  const std::size_t step = hn::Lanes(d);
  for (std::size_t i = 0; i < kLine; i += step) hn::Stream(hn::LoadU(d, from + i), d, to + i);
}

/// A hint that a line will be read soon, but not so soon that it should push others out of the first level.
HWY_INLINE void prefetch_to_l2(const std::uint8_t* p) { __builtin_prefetch(p, 0, 2); }

/// The same; with CommonArgs::near into the first level and no other, so that nothing is pushed out of the second.
HWY_INLINE void prefetch_line(const CommonArgs& a, const std::uint8_t* p) {
  if (a.near)
    __builtin_prefetch(p, 0, 0);
  else
    prefetch_to_l2(p);
}

/// Prefetches one line at each of the n <= kMost places at(0), at(1) ..., each by an instruction of its own: what runs
/// ahead of a program by the addresses of its instructions, as on AMD's processors, then sees each place by itself.
/// kLevel: 0 into the first cache and no other, 2 into the second.
template <int kLevel, std::size_t kMost, class At>
HWY_INLINE void prefetch_side_by_side(std::int64_t n, const At& at) {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((static_cast<std::int64_t>(I) < n ? __builtin_prefetch(at(I), 0, kLevel) : void()), ...);
  }
  (std::make_index_sequence<kMost>());
}

/// n bytes by whole vectors, the last one overlapping; reads and writes nothing beyond n.
HWY_INLINE void copy_bytes(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::size_t n) {
  const Bytes d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i == n) return;
  if (n >= step)
    hn::StoreU(hn::LoadU(d, from + n - step), d, to + n - step);
  else
    std::memcpy(to, from, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
