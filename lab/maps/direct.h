// Transposes without shared memory: which rectangle of the source a warp covers decides the sectors.
#pragma once

#include "lab/maps/access.h"

namespace restride::lab {

/// A block owns kRows x kCols of the source and, block for block, the transposed rectangle of the
/// destination; thread t stands at (irow, icol) = (t / kCols, t % kCols) of it and moves one element.
///
/// A warp covers 32 / kCols rows of kCols columns. With 4-byte elements:
///   kCols = 32: loads 4 sectors, stores 32 (each holds one useful element of eight)
///   kCols =  8: loads 4 sectors, stores  8 (each holds four, and the next warp fills the rest)
template <int kBytes, int kRows, int kCols>
struct DirectTranspose {
  static constexpr int kElementBytes = kBytes, kThreads = kRows * kCols, kLoads = 1, kStores = 1;
  static constexpr int kStageBytes = 0;
  Matrix matrix;
  TileGrid<kRows, kCols> grid;

  constexpr explicit DirectTranspose(const Matrix& m) : matrix(m), grid(m) {}

  constexpr std::int64_t tiles() const { return grid.tiles(); }
  RESTRIDE_HD constexpr Corner place(int tile, int thread) const {
    const Corner at = grid.along_src(tile);
    const int irow = thread / kCols;
    const int icol = thread % kCols;
    return {at.row + irow, at.col + icol};
  }
  RESTRIDE_HD constexpr Access load(int tile, int thread, int) const {
    const Corner at = place(tile, thread);
    return matrix.source<kBytes>(at.row, at.col);
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int) const {
    const Corner at = place(tile, thread);
    return matrix.transposed<kBytes>(at.row, at.col);
  }
};

/// naive: a warp reads along a row and writes down a column.
template <int kBytes>
using Naive = DirectTranspose<kBytes, 8, 32>;

/// block_map: a tall rectangle, so that each side's sectors are filled by one block.
template <int kBytes>
using BlockMap = DirectTranspose<kBytes, 32, 8>;

}  // namespace restride::lab
