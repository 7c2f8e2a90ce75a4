// Asking for dense rows before their turn comes. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_ROW_ASKER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_ROW_ASKER_INL_H_
#undef RESTRIDE_KERNELS_CPU_ROW_ASKER_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_ROW_ASKER_INL_H_
#endif

#include "src/kernels/cpu/row_batch.h"
#include "src/kernels/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

/// With each row that is moved, asks for one of those behind it, so that requests come at an even pace.
///
/// What goes into the first cache must not wait there until it is pushed out: so it is asked for a few KiB ahead, all
/// of the row. And where rows do not join in dst, the lines that they share there with others are read, too.
class RowAsker {
 public:
  RowAsker(const CpuArgs& a, const std::uint8_t* dst, const std::uint8_t* src) noexcept : a_(a), dst_(dst), src_(src) {
    if (a.places == 0) return;
    most_bytes_ = INT64_MAX;
    distance_ = std::clamp<std::int64_t>(kNearBytes / (a.units * a.src_unit), 1, RowBatch::kMost);
    edges_ = !dst_divides(a, dst, kLine) || a.units * a.dst_unit % static_cast<std::int64_t>(kLine) != 0;
  }
  /// Row i of the batch is about to be moved.
  HWY_INLINE void at(const RowBatch& rows, std::int64_t i) const noexcept {
    const std::int64_t r = i + distance_;
    if (r >= rows.known()) return;
    const std::uint8_t* row = src_ + rows.src(r);
    const std::uint8_t* end = row + std::min(rows.units(r) * a_.src_unit, most_bytes_);
    for (const std::uint8_t* line = row - reinterpret_cast<std::uintptr_t>(row) % kLine; line < end; line += kLine)
      ask_for(a_, line);
    if (!edges_) return;
    const std::uint8_t* to = dst_ + rows.dst(r);
    if (!rows.joined(r - 1)) ask_to_write(to);
    if (!rows.joined(r)) ask_to_write(to + rows.units(r) * a_.dst_unit);
  }

 private:
  static constexpr std::int64_t kNearBytes = 8 << 10;
  static constexpr std::int64_t kMostFarBytes = 1024;

  /// The line that an edge of a row is inside of.
  static HWY_INLINE void ask_to_write(const std::uint8_t* p) {
    if (reinterpret_cast<std::uintptr_t>(p) % kLine != 0) __builtin_prefetch(p, 1, 3);
  }

  const CpuArgs& a_;
  const std::uint8_t* dst_;
  const std::uint8_t* src_;
  std::int64_t distance_ = RowBatch::kMost;
  std::int64_t most_bytes_ = kMostFarBytes;  ///< of a row
  bool edges_ = false;                       ///< rows begin or end inside lines, and are asked for to write there
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
