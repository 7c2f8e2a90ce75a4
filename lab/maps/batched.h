// A batch of matrices, each transposed: one block takes the same tile of eight matrices, one after another.
#pragma once

#include "lab/maps/stage.h"

namespace restride::lab {

/// Every element has a 4-byte lane of its own in shared memory whatever its size, so that 1- and 2-byte
/// elements meet the same banks as 4-byte ones. A "tile" here is one round of one block: tile / kRounds is
/// the block, tile % kRounds the matrix within its eight.
template <int kBytes>
struct TransposeBatched {
  static constexpr int kElementBytes = kBytes, kThreads = 256, kRounds = 8, kLaneBytes = 4;
  static constexpr int kLoads = 4, kStores = 4, kGets = 4, kPutBytes = kBytes, kGetBytes = kBytes;
  static constexpr int kStageBytes = PaddedStage::kElements * kLaneBytes;
  static constexpr int kRowsAStep = kThreads / kTile;
  Matrix matrix;
  TileGrid<kTile, kTile> grid;

  constexpr explicit TransposeBatched(const Matrix& m) : matrix(m), grid(m) {}

  constexpr std::int64_t blocks() const { return grid.tiles() * ceil_div(matrix.batch, kRounds); }
  constexpr std::int64_t tiles() const { return blocks() * kRounds; }

  RESTRIDE_HD constexpr Access load(int tile, int thread, int step) const {
    const Corner at = corner(tile);
    return in_batch(tile, matrix.source<kBytes>(at.row + slow(thread, step), at.col + fast(thread)));
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const {
    const Corner at = corner(tile);
    return in_batch(tile, matrix.transposed<kBytes>(at.row + fast(thread), at.col + slow(thread, step)));
  }
  RESTRIDE_HD constexpr int put(int thread, int step) const {
    return PaddedStage::element(slow(thread, step), fast(thread)) * kLaneBytes;
  }
  RESTRIDE_HD constexpr int get(int thread, int step) const {
    return PaddedStage::element(fast(thread), slow(thread, step)) * kLaneBytes;
  }

 private:
  RESTRIDE_HD static constexpr int fast(int thread) { return thread % kTile; }
  RESTRIDE_HD static constexpr int slow(int thread, int step) { return thread / kTile + step * kRowsAStep; }
  RESTRIDE_HD constexpr int block_in_matrix(int tile) const { return static_cast<int>(tile / kRounds % grid.tiles()); }
  RESTRIDE_HD constexpr Corner corner(int tile) const { return grid.along_src(block_in_matrix(tile)); }
  /// The access moved to the tile's matrix; idle past the last one.
  RESTRIDE_HD constexpr Access in_batch(int tile, Access access) const {
    const int number = static_cast<int>(tile / kRounds / grid.tiles()) * kRounds + tile % kRounds;
    access.byte += std::int64_t{number} * matrix.rows * matrix.cols * kBytes;
    if (number >= matrix.batch) access.elems = 0;
    return access;
  }
};

}  // namespace restride::lab
