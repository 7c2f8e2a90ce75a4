// The inside of a buffered block as tables of offsets, made once a call, and the sizes of blocks that the end of a mode
// cuts short.
#pragma once

#include <cstdint>

#include "src/cpu/buffered/args.h"
#include "src/cpu/buffered/kernel.h"

namespace restride::cpu {

/// The points of each mode in the block at a cursor.
class BlockShape {
 public:
  BlockShape(const BufferedArgs& a, const NestCursor& at) noexcept;
  /// True behind a mode's end.
  bool empty() const noexcept { return empty_; }
  std::int64_t points(int mode) const noexcept { return points_[mode]; }
  std::int64_t points(const BufferedBlock::List& list) const noexcept;

 private:
  bool empty_ = false;
  std::int64_t points_[BufferedBlock::kCapacity];
};

struct BlockTables {
  /// buffered: blocks are put together in a buffer; else in dst itself.
  BlockTables(const BufferedBlock& b, bool buffered) noexcept;

  BufferedBlock::List inner;
  int outer = -1;
  std::int64_t outer_src = 0;
  std::int64_t outer_put = 0;
  std::int64_t whole_rows = 1;  ///< of a block that is not cut
  /// In src, and the last one again, which stands in for the rows that a vector has beyond them.
  std::int64_t rows[kBufferedPoints + kBufferedVectorRows];
  std::int64_t cols[kBufferedPoints];        ///< where a block is put together
  std::int64_t others_src[kBufferedPoints];  ///< of the modes `inner`
  std::int64_t others_put[kBufferedPoints];
  std::int64_t dst_runs[kBufferedPoints];  ///< in dst
  std::int64_t src_runs[kBufferedPoints];  ///< in src
};

}  // namespace restride::cpu
