// Lines that leave in an order that memory takes at its full rate. Included once per instruction set.
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_LATE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_LATE_LINES_INL_H_
#undef RESTRIDE_KERNELS_CPU_LATE_LINES_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_LATE_LINES_INL_H_
#endif

#include "src/kernels/cpu/args.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/tile.h"
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

/// Where columns lie an even number of lines apart, the lines of a row of them are all even or all odd ones, and
/// memory takes lone lines of one kind at half its rate: the two of 128 bytes are served apart. So each odd column is
/// one line late, and what leaves is of either kind in turn. Its lines wait in a buffer that stays in the caches.
template <std::size_t kUnit>
class LateLines {
 public:
  using B = Block<kUnit>;
  /// Where a block is narrower, a few lines of a column leave before the next column's.
  static constexpr bool kOffered = B::kVectorBytes == kLine && B::kCols >= 8;

  /// The waiting lines of the open block.
  class Waiting {
   public:
    Waiting(std::uint8_t* at, bool on) : at_(at), on_(on) {}
    HWY_INLINE bool holds(std::size_t j) const { return kOffered && j % 2 != 0 && on_; }
    /// Column j's line for `to`; the one above it leaves, unless there is none.
    HWY_INLINE void put(std::size_t j, typename B::V line, std::uint8_t* to, bool at_top) const {
      if (HWY_LIKELY(!at_top)) leave(j, to);
      store(line, typename B::D(), slot(j));
    }
    /// The line above `to` leaves.
    HWY_INLINE void leave(std::size_t j, std::uint8_t* to) const {
      stream(load(typename B::D(), slot(j)), typename B::D(), to - kLine);
    }

   private:
    HWY_INLINE std::uint8_t* slot(std::size_t j) const { return at_ + j / 2 * kLine; }
    std::uint8_t* at_;
    bool on_;
  };

  explicit LateLines(const CpuArgs& a) : on_(kOffered && neighbours_in_step(a)) {}
  HWY_INLINE Waiting open(std::int64_t c) { return Waiting(lines_ + c / 2 * static_cast<std::int64_t>(kLine), on_); }

 private:
  static bool neighbours_in_step(const CpuArgs& a) {
    if (a.col_set.rank == 0) return false;
    const std::uint64_t apart = static_cast<std::uint64_t>(a.col_set.modes[0].dst_stride) % (2 * kLine);
    return apart < kLine / 2 || apart > 2 * kLine - kLine / 2;
  }

  bool on_;
  alignas(64) std::uint8_t lines_[kOffered ? (kMaxBandCols + B::kCols) / 2 * kLine : kLine];
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
