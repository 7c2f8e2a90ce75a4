// Prefetching the source of packed tiles before their turn comes. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_TILE_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_TILE_PREFETCH_INL_H_
#undef RESTRIDE_CPU_SIMD_TILE_PREFETCH_INL_H_
#else
#define RESTRIDE_CPU_SIMD_TILE_PREFETCH_INL_H_
#endif

#include "src/cpu/args.h"
#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Prefetches source lines ahead, at the pace at which units leave. Where tiles are read one after the other, as a
/// plain copy would, each line is prefetched some KiB ahead. Else one stream of addresses is read at a fraction of the
/// speed of several: so some runs of the next tile, or the next tiles where one has fewer, are prefetched side by side.
class RunPrefetcher {
 public:
  static constexpr std::int64_t kStreams = 8;  ///< places that are prefetched side by side

  RunPrefetcher(const CommonArgs& a, const Nest& nest, const std::uint8_t* src, std::int64_t begin,
                std::int64_t end) noexcept
      : src_(src),
        src_unit_(a.src_unit),
        first_cache_(a.near),
        tile_step_(nest.rank() > 0 ? nest[0].src_stride : 0),
        prefetched_(begin),
        end_(end),
        cursor_(nest, begin) {}

  /// Before each tile: its source runs, which those of the tiles behind it are like. tile: where the offsets count
  /// from, for a kernel that says of every unit when it leaves.
  void enter(std::int64_t runs, const std::int64_t* offsets, std::int64_t run_bytes, std::int64_t task,
             const std::uint8_t* tile = nullptr, std::int64_t reach = 0) noexcept {
    straight_ = first_cache_ && tile != nullptr && runs == 1 && tile_step_ == run_bytes;
    if (straight_) {
      const std::uint8_t* from = tile + offsets[0] + std::max(kAheadBytes, reach + kAheadBytes / 2);
      if (from != until_) ahead_ = from;
      until_ = from;
      return;
    }
    if (--left_in_group_ > 0) return;
    runs_ = runs;
    offsets_ = offsets;
    run_bytes_ = run_bytes;
    left_in_group_ = std::max<std::int64_t>(kStreams / runs_, 1);
    if (first_cache_)
      left_in_group_ = std::clamp<std::int64_t>(kMostAheadBytes / (runs_ * run_bytes_), 1, left_in_group_);
    for (const std::int64_t behind = std::min(task + left_in_group_, end_); prefetched_ < behind; ++prefetched_)
      cursor_.next();
    for (tiles_ = 0; tiles_ < left_in_group_ && prefetched_ < end_; ++prefetched_, cursor_.next())
      tile_[tiles_++] = src_ + cursor_.src();
    owed_bytes_ = 0;
    start(0);
  }

  /// True when tiles' sources follow each other: then every line is prefetched as far ahead of its turn as any other.
  bool straight() const noexcept { return straight_; }

  /// n units of the current tile are about to leave for dst, or just have.
  HWY_NOINLINE void units_left(std::int64_t n) noexcept {
    if (straight_) {
      for (until_ += n * src_unit_; ahead_ < until_; ahead_ += 64) __builtin_prefetch(ahead_, 0, 3);
      return;
    }
    for (owed_bytes_ += n * src_unit_; owed_bytes_ > 0 && streams_ > 0; owed_bytes_ -= 64 * streams_) {
      prefetch_all(at_);
      at_ += 64;
      if (at_ < run_bytes_) continue;
      if (at_ < run_bytes_ + 64) prefetch_all(run_bytes_ - 1);  // runs start inside lines
      owed_bytes_ += (at_ - run_bytes_) * streams_;
      start(first_run_ + kStreams);
    }
  }

 private:
  static constexpr std::int64_t kAheadBytes = 6144;           ///< most of them wait in the first cache
  static constexpr std::int64_t kMostAheadBytes = 128 << 10;  ///< of a group of tiles on their way into it

  /// The line of each stream that byte `at` is in.
  HWY_INLINE void prefetch_all(std::int64_t at) const noexcept {
    const auto line = [&](std::size_t i) { return stream_[i] + at; };
    if (first_cache_)
      prefetch_side_by_side<0, kStreams>(streams_, line);
    else
      prefetch_side_by_side<2, kStreams>(streams_, line);
  }
  /// The next runs, of all tiles of the group.
  void start(std::int64_t first_run) noexcept {
    first_run_ = first_run;
    at_ = streams_ = 0;
    for (std::int64_t r = first_run; r < std::min(first_run + kStreams, runs_); ++r)
      for (std::int64_t i = 0; i < tiles_; ++i) stream_[streams_++] = tile_[i] + offsets_[r];
  }

  const std::uint8_t* src_;
  std::int64_t src_unit_;
  bool first_cache_;                     ///< lines are prefetched into it
  std::int64_t tile_step_;               ///< bytes from tile to tile
  bool straight_ = false;                ///< one stream goes on from tile to tile
  const std::uint8_t* ahead_ = nullptr;  ///< prefetched
  const std::uint8_t* until_ = nullptr;  ///< to be prefetched
  std::int64_t prefetched_;              ///< the first task not prefetched
  std::int64_t end_;
  NestCursor cursor_;
  const std::int64_t* offsets_ = nullptr;
  std::int64_t runs_ = 0;
  std::int64_t run_bytes_ = 0;
  std::int64_t left_in_group_ = 0;
  std::int64_t tiles_ = 0;
  std::int64_t first_run_ = 0;
  std::int64_t streams_ = 0;
  std::int64_t at_ = 0;  ///< bytes of each stream that were prefetched
  std::int64_t owed_bytes_ = 0;
  const std::uint8_t* tile_[kStreams] = {};
  const std::uint8_t* stream_[kStreams] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
