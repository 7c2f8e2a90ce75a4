// The index map of rows' kernel for short rows with gaps between them in dst: one unit or a few, which lie at constant
// steps on both sides. Columns of a matrix, fields of wider records, parts of an array put together along its innermost
// mode are such rows.
//
// What lies in the gaps belongs to somebody else and is never written, so a lane has one unit, or a whole row of two to
// four bytes that it stores by twos: a warp's stores then hold the rows' bytes and no others. A block's threads make up
// whole rows, so a thread keeps its place in the row and goes from row to row by constant steps.
#pragma once

#include <cstdint>

#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kMostShortThreads = 384;  ///< of a block

struct ShortRowsArgs {
  Walk outer;  ///< over the modes that are neither inside the rows nor count them
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t dst_step = 0, src_step = 0;  ///< bytes from row to row
  std::int64_t src_inside = 0;              ///< bytes of src from unit to unit of a row
  std::int64_t rows = 0;                    ///< of an item of the walk
  base::FastDiv lanes;                      ///< of a row
  std::int32_t lane_units = 1;
  base::FastDiv chunks;        ///< blocks an item takes
  std::int32_t threads = 0;    ///< of a block; they make up whole rows
  std::int32_t step_rows = 0;  ///< rows that they move at a step
  std::int32_t steps = 1;      ///< rows of which a thread moves its part
  bool fetch_sectors = false;  ///< sectors of dst are written in part: L2 is asked for them before
  std::uint32_t blocks = 0;
};

/// Where a thread begins: the item of the walk, the row in it (which may be past the last), and the unit of every row
/// that is its first.
struct ShortRowsPlace {
  std::uint32_t item = 0;
  std::int64_t row = 0;
  std::int32_t unit = 0;
};
RESTRIDE_HD constexpr ShortRowsPlace short_rows_place(const ShortRowsArgs& a, std::uint32_t block,
                                                      std::uint32_t thread) {
  const std::uint32_t item = a.chunks.quotient(block), chunk = block - item * a.chunks.divisor;
  const std::uint32_t row = a.lanes.quotient(thread);
  return {item, static_cast<std::int64_t>(chunk) * a.steps * a.step_rows + row,
          static_cast<std::int32_t>(thread - row * a.lanes.divisor) * a.lane_units};
}

}  // namespace restride::cuda
