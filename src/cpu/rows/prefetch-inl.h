// Prefetching rows before their turn comes. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_ROWS_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_ROWS_PREFETCH_INL_H_
#undef RESTRIDE_CPU_ROWS_PREFETCH_INL_H_
#else
#define RESTRIDE_CPU_ROWS_PREFETCH_INL_H_
#endif

#include "src/cpu/rows/batch.h"
#include "src/cpu/rows/kernel.h"
#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Rows ahead of their turn that are prefetched with CommonArgs::near, where one is `bytes` of src: a few KiB.
inline std::int64_t near_rows_ahead(std::int64_t bytes) noexcept {
  constexpr std::int64_t kNearBytes = 8 << 10;
  return std::clamp<std::int64_t>(kNearBytes / bytes, 1, RowBatch::kMost);
}

/// With each row that is moved, prefetches one of those behind it, so that requests come at an even pace.
///
/// What goes into the first cache must not wait there until it is pushed out: so it is prefetched a few KiB ahead, all
/// of the row. And where rows do not join in dst, the lines that they share there with others are read, too.
class RowPrefetcher {
 public:
  static constexpr std::int64_t kMostFarBytes = 1024;  ///< of a row, into the second cache

  RowPrefetcher(const RowsArgs& a, const std::uint8_t* dst, const std::uint8_t* src) noexcept
      : a_(a),
        dst_(dst),
        src_(src),
        stride_(std::abs(a.row_src_stride)),
        prefetches_(a.stream && stride_ == a.src_unit) {
    if (!a.near) return;
    prefetches_ = a.stream && stride_ <= kMostPrefetchedCell;
    most_bytes_ = INT64_MAX;
    downwards_ = a.row_src_stride < 0 && a.nest.rank() > 0 && a.nest[0].src_stride < 0;
    distance_ = near_rows_ahead(span(a.units));
    edges_ = !dst_divides(dst, a.nest, kLine) || a.units * a.dst_unit % static_cast<std::int64_t>(kLine) != 0;
  }
  /// Row i of the batch is about to be moved.
  HWY_INLINE void at(const RowBatch& rows, std::int64_t i) const noexcept {
    const std::int64_t r = i + distance_;
    if (!prefetches_ || r >= rows.known()) return;
    const std::int64_t bytes = std::min(span(rows.units(r)), most_bytes_);
    const std::uint8_t* row = src_ + rows.src(r) - (a_.row_src_stride < 0 ? span(rows.units(r)) - a_.src_unit : 0);
    const std::uint8_t* first = row - reinterpret_cast<std::uintptr_t>(row) % kLine;
    const std::int64_t lines = (row + bytes - first + 63) / static_cast<std::int64_t>(kLine);
    const std::int64_t way = downwards_ ? -static_cast<std::int64_t>(kLine) : static_cast<std::int64_t>(kLine);
    if (downwards_) first += (lines - 1) * static_cast<std::int64_t>(kLine);
    for (std::int64_t k = 0; k < lines; ++k, first += way) prefetch_line(a_, first);
    if (!edges_) return;
    const std::uint8_t* to = dst_ + rows.dst(r);
    if (!rows.joined(r - 1)) prefetch_to_write(to);
    if (!rows.joined(r)) prefetch_to_write(to + rows.units(r) * a_.dst_unit);
  }

 private:
  /// Bytes of src that a row lies in.
  std::int64_t span(std::int64_t units) const noexcept { return (units - 1) * stride_ + a_.src_unit; }
  /// The line that an edge of a row is inside of.
  static HWY_INLINE void prefetch_to_write(const std::uint8_t* p) {
    if (reinterpret_cast<std::uintptr_t>(p) % kLine != 0) __builtin_prefetch(p, 1, 3);
  }

  const RowsArgs& a_;
  const std::uint8_t* dst_;
  const std::uint8_t* src_;
  std::int64_t stride_;  ///< of units in src, downwards or upwards
  bool prefetches_;
  std::int64_t distance_ = RowBatch::kMost;
  std::int64_t most_bytes_ = kMostFarBytes;  ///< of a row
  bool downwards_ = false;                   ///< each row's start is below the one before it, and so are its units
  bool edges_ = false;                       ///< rows begin or end inside lines, and are prefetched to write there
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
