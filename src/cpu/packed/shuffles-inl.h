// Permuting a staged tile by vector shuffles that are worked out once: a list of steps, one for each vector of output.
// Included once per instruction set.
//
// The units of one output vector lie in a few 64-byte windows of the stage. A step loads the windows, takes lanes of
// each pair by one two-register permute, and merges. Tiles repeat themselves, so steps share few patterns of lanes:
// three-channel images have three, a batch of 5x7 matrices thirty-five; and where one follows itself, its lanes stay in
// registers. A gather would take each unit by itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_SHUFFLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_SHUFFLES_INL_H_
#undef RESTRIDE_CPU_PACKED_SHUFFLES_INL_H_
#else
#define RESTRIDE_CPU_PACKED_SHUFFLES_INL_H_
#endif

#include "src/cpu/packed/ways.h"
#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The steps of one tile. Empty where kPermutes is false.
template <std::size_t kUnit, bool = kPermutes<kUnit>>
class Shuffles {};

#if HWY_TARGET <= HWY_AVX3
template <std::size_t kUnit>
class Shuffles<kUnit, true> {
 public:
  using Lane = typename LaneOf<kUnit>::type;
  using D = hn::CappedTag<Lane, 64 / sizeof(Lane)>;
  using V = hn::Vec<D>;

  /// Works the steps out. `offsets` are the stage's bytes for each unit of output: `runs` runs of `run_units` units.
  /// False when the tile has too many patterns, or when units lie so far apart that gathers do as well.
  HWY_NOINLINE bool build(const std::int32_t* offsets, std::int64_t runs, std::int64_t run_units) noexcept {
    if (run_units < kLanes) return false;
    // A window on a line is read at once, most others as two lines; but lines take longer to repeat themselves.
    return find(offsets, runs, run_units, true, 4) || find(offsets, runs, run_units, false, 1);
  }

  /// n vectors of the output from number `first` on, densely to `out`.
  HWY_INLINE void take(std::int64_t first, std::int64_t n, const std::uint8_t* HWY_RESTRICT stage,
                       std::uint8_t* HWY_RESTRICT out) const {
    const Step* step = steps_ + first;
    const Step* end = step + n;
    if (!alike_) {
      for (; step < end; ++step, out += 64) take_one(pattern_[step->pattern], stage + step->from, out);
      return;
    }
    while (step < end) {
      const Pattern& p = pattern_[step->pattern];
      const Step* next = std::min(end, step + step->alike);
      switch (p.pairs) {
        case 1: out = take<1>(p, step, next, stage, out); break;
        case 2: out = take<2>(p, step, next, stage, out); break;
        case 3: out = take<3>(p, step, next, stage, out); break;
        case 4: out = take<4>(p, step, next, stage, out); break;
        default:
          if constexpr (kMaxPairs > 4)
            out = p.pairs <= 6 ? take<6>(p, step, next, stage, out) : take<8>(p, step, next, stage, out);
      }
      step = next;
    }
  }

  /// What all steps take: see cpu/packed/ways.h.
  double cycles() const noexcept { return cycles_; }

  static constexpr int kLanes = 64 / static_cast<int>(kUnit);

 private:
  static constexpr auto kUnitBytes = static_cast<std::int32_t>(kUnit);
  static constexpr int kMaxPairs = kUnit <= 2 ? 8 : 4;
  static constexpr int kMaxPatterns = 128;
  static constexpr int kMaxSteps = 1024;
  static constexpr int kBuckets = 512;

  struct Step {
    std::int32_t from;  ///< bytes into the stage
    std::int16_t pattern;
    std::int16_t alike;  ///< steps from here on with the same pattern
  };
  struct Pattern {
    alignas(64) Lane index[kLanes];
    std::uint64_t lanes[kMaxPairs];      ///< that come from each pair of windows
    std::int32_t window[2 * kMaxPairs];  ///< bytes behind the first
    std::int32_t pairs;
  };

  bool find(const std::int32_t* offsets, std::int64_t runs, std::int64_t run_units, bool on_lines, int uses) noexcept {
    patterns_ = 0;
    int steps = 0;
    std::fill(std::begin(buckets_), std::end(buckets_), std::int16_t{-1});
    for (std::int64_t r = 0; r < runs; ++r)
      for (std::int64_t u = 0; u < run_units; u += kLanes, ++steps) {
        const auto n = static_cast<int>(std::min<std::int64_t>(kLanes, run_units - u));
        if (steps == kMaxSteps || !add(offsets + r * run_units + u, n, on_lines, &steps_[steps])) return false;
      }
    int changes = 0;
    for (int s = steps; s-- > 0;) {
      const bool same = s + 1 < steps && steps_[s].pattern == steps_[s + 1].pattern;
      steps_[s].alike = static_cast<std::int16_t>(same ? steps_[s + 1].alike + 1 : 1);
      changes += same ? 0 : 1;
    }
    alike_ = changes * 4 <= steps;
    cycles_ = 0;
    for (int s = 0; s < steps; ++s) cycles_ += step_cycles(pattern_[steps_[s].pattern].pairs, alike_);
    return patterns_ == 1 || patterns_ * uses <= steps;
  }

  /// One vector: units at n offsets, the rest whatever.
  bool add(const std::int32_t* offsets, int n, bool on_lines, Step* step) noexcept {
    Pattern p;
    std::memset(&p, 0, sizeof p);
    std::uint64_t open = ~std::uint64_t{0} >> (64 - n);
    std::int32_t base = 0;
    int windows = 0;
    for (; open != 0; ++windows) {
      if (windows == 2 * kMaxPairs) return false;
      std::int32_t first = INT32_MAX;
      for (int i = 0; i < n; ++i)
        if ((open >> i & 1) != 0) first = std::min(first, offsets[i]);
      if (on_lines) first -= first % 64;
      if (windows == 0) base = first;
      p.window[windows] = first - base;
      for (int i = 0; i < n; ++i) {
        const std::int32_t in = offsets[i] - first;
        if ((open >> i & 1) == 0 || in > 64 - kUnitBytes) continue;
        if (in % kUnitBytes != 0) {
          if (on_lines) return false;
          continue;
        }
        p.index[i] = static_cast<Lane>(windows % 2 * kLanes + in / kUnitBytes);
        p.lanes[windows / 2] |= std::uint64_t{1} << i;
        open &= ~(std::uint64_t{1} << i);
      }
    }
    p.pairs = (windows + 1) / 2;
    for (; windows < 2 * kMaxPairs; ++windows) p.window[windows] = p.window[windows - 1];  // pairs are loaded whole
    step->from = base;
    step->pattern = number(p);
    return step->pattern >= 0;
  }

  /// The number of a pattern, old or new; -1 where there is no room for it.
  std::int16_t number(const Pattern& p) noexcept {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i + 8 <= sizeof p; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, reinterpret_cast<const char*>(&p) + i, 8);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    for (std::uint64_t b = hash % kBuckets;; b = (b + 1) % kBuckets) {
      if (buckets_[b] < 0) {
        if (patterns_ == kMaxPatterns) return -1;
        std::memcpy(&pattern_[patterns_], &p, sizeof p);
        buckets_[b] = static_cast<std::int16_t>(patterns_);
        return static_cast<std::int16_t>(patterns_++);
      }
      if (std::memcmp(&pattern_[buckets_[b]], &p, sizeof p) == 0) return buckets_[b];
    }
  }

  static HWY_INLINE void take_one(const Pattern& p, const std::uint8_t* HWY_RESTRICT from,
                                  std::uint8_t* HWY_RESTRICT out) {
    const V index = hn::Load(D(), p.index);
    V v = permute_two(window(from), index, window(from + p.window[1]));
    for (int k = 1; k < p.pairs; ++k)
      v = merge(v, p.lanes[k], permute_two(window(from + p.window[2 * k]), index, window(from + p.window[2 * k + 1])));
    store(v, D(), out);
  }

  /// Steps [step, end), all of pattern p. Where the next vector goes.
  template <int kPairs>
  static HWY_INLINE std::uint8_t* take(const Pattern& p, const Step* HWY_RESTRICT step, const Step* end,
                                       const std::uint8_t* HWY_RESTRICT stage, std::uint8_t* HWY_RESTRICT out) {
    return take_pairs(p, step, end, stage, out, std::make_integer_sequence<int, kPairs>());
  }
  template <int... K>
  static HWY_INLINE std::uint8_t* take_pairs(const Pattern& p, const Step* HWY_RESTRICT step, const Step* end,
                                             const std::uint8_t* HWY_RESTRICT stage, std::uint8_t* HWY_RESTRICT out,
                                             std::integer_sequence<int, K...>) {
    const V index = hn::Load(D(), p.index);
    const std::int64_t low[] = {p.window[2 * K]...};  // in registers, as are the lanes
    const std::int64_t high[] = {p.window[2 * K + 1]...};
    const std::uint64_t lanes[] = {p.lanes[K]...};
    for (; step < end; ++step, out += 64) {
      const std::uint8_t* from = stage + step->from;
      V v = permute_two(window(from), index, window(from + high[0]));
      ((K == 0 ? void()
               : void(v = merge(v, lanes[K], permute_two(window(from + low[K]), index, window(from + high[K]))))),
       ...);
      store(v, D(), out);
    }
    return out;
  }

  static HWY_INLINE V window(const std::uint8_t* from) { return hn::LoadU(D(), reinterpret_cast<const Lane*>(from)); }
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
  int patterns_ = 0;
  double cycles_ = 0;
  bool alike_ = false;  ///< patterns mostly follow themselves
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
