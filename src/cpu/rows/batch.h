// Rows, or pieces of rows, of a walk: a few at a time, with those behind them, which are prefetched meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/cpu/rows/args.h"

namespace restride::cpu {

class RowBatch {
 public:
  static constexpr std::int64_t kMost = 32;

  /// The rows of tasks [begin, end), before the first batch.
  RowBatch(const RowsArgs& a, std::int64_t begin, std::int64_t end) noexcept
      : a_(a), walk_(a.nest, begin), left_(end - begin) {}

  /// On to the next batch; false when there is none.
  bool next() noexcept {
    known_ -= n_;
    for (std::int64_t i = 0; i < known_; ++i) {
      dst_[i] = dst_[i + n_];
      src_[i] = src_[i + n_];
      units_[i] = units_[i + n_];
    }
    while (known_ < 2 * kMost && left_ > 0) {
      // A run of the innermost mode at a time.
      const layout::CopyMode& m = a_.nest[0];
      const std::int64_t run =
          a_.nest.rank() == 0 ? 1 : std::min({m.extent - walk_.index(0), left_, 2 * kMost - known_});
      const std::int64_t dst = walk_.dst(), src = walk_.src();
      for (std::int64_t i = 0; i < run; ++i) {
        dst_[known_ + i] = dst + i * m.dst_stride;
        src_[known_ + i] = src + i * m.src_stride;
        units_[known_ + i] = a_.units;
      }
      const std::int64_t to_last = a_.last_piece - walk_.index(0);
      if (a_.last_units != 0 && 0 <= to_last && to_last < run) units_[known_ + to_last] = a_.last_units;
      known_ += run;
      left_ -= run;
      walk_.next(run);
    }
    n_ = std::min(kMost, known_);
    return n_ > 0;
  }

  std::int64_t size() const noexcept { return n_; }
  /// Those that are known behind them are at most kMost.
  std::int64_t known() const noexcept { return known_; }
  /// Row i < known(): bytes from the bases at which it starts, and its units.
  std::int64_t dst(std::int64_t i) const noexcept { return dst_[i]; }
  std::int64_t src(std::int64_t i) const noexcept { return src_[i]; }
  std::int64_t units(std::int64_t i) const noexcept { return units_[i]; }
  /// True when row i + 1 goes on in dst where row i ends.
  bool joined(std::int64_t i) const noexcept {
    return i + 1 < known_ && dst_[i + 1] - dst_[i] == units_[i] * a_.dst_unit;
  }

 private:
  const RowsArgs& a_;
  NestCursor walk_;
  std::int64_t left_;
  std::int64_t n_ = 0;
  std::int64_t known_ = 0;
  std::int64_t dst_[2 * kMost];
  std::int64_t src_[2 * kMost];
  std::int64_t units_[2 * kMost];
};

}  // namespace restride::cpu
