// Permuting a staged tile by vector shuffles that are worked out once: a list of steps, one for each vector of output.
// Included once per instruction set.
//
// The units of one output vector lie in a few 64-byte windows of the stage. A step loads the windows, takes lanes of
// each pair by one two-register permute, and merges. Tiles repeat themselves, so steps share few patterns of lanes:
// three-channel images have three, a batch of 5x7 matrices thirty-five. A gather would take each unit by itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_SHUFFLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_SHUFFLES_INL_H_
#undef RESTRIDE_KERNELS_CPU_SHUFFLES_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_SHUFFLES_INL_H_
#endif

#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// True when this instruction set has a two-register permute of units of this width.
template <std::size_t kUnit>
inline constexpr bool kShuffles =
#if HWY_TARGET <= HWY_AVX3_DL
    kUnit <= 8;
#elif HWY_TARGET <= HWY_AVX3
    kUnit >= 2 && kUnit <= 8;
#else
    false;
#endif

/// The steps of one tile. Empty where kShuffles is false.
template <std::size_t kUnit, bool = kShuffles<kUnit>>
class Shuffles {};

#if HWY_TARGET <= HWY_AVX3
template <std::size_t kUnit>
class Shuffles<kUnit, true> {
 public:
  using Lane = typename LaneOf<kUnit>::type;
  using D = hn::CappedTag<Lane, 64 / sizeof(Lane)>;
  using V = hn::Vec<D>;
  static constexpr auto kUnitBytes = static_cast<std::int32_t>(kUnit);
  static constexpr int kLanes = 64 / kUnitBytes;

  /// Works the steps out. `offsets` are the stage's bytes for each unit of output: `runs` runs of `run_units` units.
  /// False when the tile does not repeat itself enough, or when units lie so far apart that gathers do as well.
  HWY_NOINLINE bool build(const std::int32_t* offsets, std::int64_t runs, std::int64_t run_units) noexcept {
    run_steps_ = (run_units + kLanes - 1) / kLanes;
    patterns_ = 0;
    std::fill(std::begin(buckets_), std::end(buckets_), std::int16_t{-1});
    if (run_units < kLanes || runs * run_steps_ > kMaxSteps) return false;
    Step* step = steps_;
    for (std::int64_t r = 0; r < runs; ++r)
      for (std::int64_t u = 0; u < run_units; u += kLanes) {
        const auto n = static_cast<int>(std::min<std::int64_t>(kLanes, run_units - u));
        if (!add(offsets + r * run_units + u, n, step++)) return false;
      }
    return true;
  }

  std::int64_t run_steps() const noexcept { return run_steps_; }

  /// Vector number `step` of the output.
  HWY_INLINE V take(std::int64_t step, const std::uint8_t* HWY_RESTRICT stage) const {
    const Step s = steps_[step];
    const Pattern& p = pattern_[s.pattern];
    const std::uint8_t* from = stage + s.base;
    const V index = hn::Load(D(), p.index);
    V out = permute(window(from), index, window(from + p.window[1]));
    for (int w = 2; w < p.windows; w += 2)
      out = merge(out, p.lanes[w / 2], permute(window(from + p.window[w]), index, window(from + p.window[w + 1])));
    return out;
  }

 private:
  static constexpr int kMaxWindows = kUnit <= 2 ? 16 : 8;
  static constexpr int kMaxPatterns = 128;
  static constexpr int kMaxSteps = 1024;
  static constexpr int kBuckets = 512;

  struct Step {
    std::int32_t base;
    std::int32_t pattern;
  };
  struct Pattern {
    alignas(64) Lane index[kLanes];
    std::uint64_t lanes[kMaxWindows / 2];  ///< of each pair of windows
    std::int32_t window[kMaxWindows];      ///< bytes behind the first
    std::int32_t windows;
  };

  /// One vector: units at n offsets, the rest whatever.
  bool add(const std::int32_t* offsets, int n, Step* step) noexcept {
    Pattern p;
    std::memset(&p, 0, sizeof p);
    std::uint64_t open = kLanes == 64 && n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    std::int32_t base = 0;
    for (; open != 0; ++p.windows) {
      if (p.windows == kMaxWindows) return false;
      std::int32_t first = INT32_MAX;
      for (int i = 0; i < n; ++i)
        if ((open >> i & 1) != 0) first = std::min(first, offsets[i]);
      if (p.windows == 0) base = first;
      p.window[p.windows] = first - base;
      for (int i = 0; i < n; ++i) {
        const std::int32_t in = offsets[i] - first;
        if ((open >> i & 1) == 0 || in > 64 - kUnitBytes || in % kUnitBytes != 0) continue;
        p.index[i] = static_cast<Lane>(p.windows % 2 * kLanes + in / kUnitBytes);
        p.lanes[p.windows / 2] |= std::uint64_t{1} << i;
        open &= ~(std::uint64_t{1} << i);
      }
    }
    if (p.windows % 2 == 1) p.window[p.windows] = p.window[p.windows - 1];  // pairs are loaded whole
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i + 8 <= sizeof p; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, reinterpret_cast<const char*>(&p) + i, 8);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    for (std::uint64_t b = hash % kBuckets;; b = (b + 1) % kBuckets) {
      if (buckets_[b] < 0) {
        if (patterns_ == kMaxPatterns) return false;
        std::memcpy(&pattern_[patterns_], &p, sizeof p);
        buckets_[b] = static_cast<std::int16_t>(patterns_++);
      } else if (std::memcmp(&pattern_[buckets_[b]], &p, sizeof p) != 0) {
        continue;
      }
      *step = {base, buckets_[b]};
      return true;
    }
  }

  static HWY_INLINE V window(const std::uint8_t* from) { return hn::LoadU(D(), reinterpret_cast<const Lane*>(from)); }
  static HWY_INLINE V permute(V a, V index, V b) {
    if constexpr (kUnit == 8)
      return V{_mm512_permutex2var_epi64(a.raw, index.raw, b.raw)};
    else if constexpr (kUnit == 4)
      return V{_mm512_permutex2var_epi32(a.raw, index.raw, b.raw)};
    else if constexpr (kUnit == 2)
      return V{_mm512_permutex2var_epi16(a.raw, index.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX3_DL
    else
      return V{_mm512_permutex2var_epi8(a.raw, index.raw, b.raw)};
#else
    else
      return b;  // not instantiated: see kShuffles
#endif
  }
  /// Lanes of b where the bit is set, else of a.
  static HWY_INLINE V merge(V a, std::uint64_t lanes, V b) {
    if constexpr (kUnit == 8)
      return V{_mm512_mask_mov_epi64(a.raw, static_cast<__mmask8>(lanes), b.raw)};
    else if constexpr (kUnit == 4)
      return V{_mm512_mask_mov_epi32(a.raw, static_cast<__mmask16>(lanes), b.raw)};
    else if constexpr (kUnit == 2)
      return V{_mm512_mask_mov_epi16(a.raw, static_cast<__mmask32>(lanes), b.raw)};
    else
      return V{_mm512_mask_mov_epi8(a.raw, lanes, b.raw)};
  }

  Step steps_[kMaxSteps];
  Pattern pattern_[kMaxPatterns];
  std::int16_t buckets_[kBuckets];
  std::int64_t run_steps_ = 0;
  int patterns_ = 0;
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
