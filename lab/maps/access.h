// The words every map of the lab speaks: a matrix, what one thread touches in one instruction, a grid of tiles.
//
// A map is a small struct of plain integers with pure functions (tile, thread, step) -> bytes. The kernel
// calls them to move data; replay.h calls the same ones on the CPU to prove that the rung is right and to
// count its sectors and bank conflicts. What a map must offer is written down there.
#pragma once

#include <cstdint>

#include "src/base/hd.h"

namespace restride::lab {

inline constexpr int kWarp = 32;

RESTRIDE_HD constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// `elems` neighbouring elements that start `byte` bytes into a side; no elements: the thread sits out.
struct Access {
  std::int64_t byte = 0;
  int elems = 0;
};

/// A row-major source of rows x cols, and its transpose, cols x rows; `batch` of them back to back.
struct Matrix {
  int rows = 0;
  int cols = 0;
  int batch = 1;

  RESTRIDE_HD constexpr std::int64_t elements() const { return std::int64_t{rows} * cols * batch; }

  /// `elems` neighbours of source row `row` from column `col` on; all inside, or the thread sits out.
  template <int kElementBytes>
  RESTRIDE_HD constexpr Access source(int row, int col, int elems = 1) const {
    const bool inside = row < rows && col + elems <= cols;
    return {(std::int64_t{row} * cols + col) * kElementBytes, inside ? elems : 0};
  }

  /// Where the transpose keeps the source's (row .. row + elems - 1, col): neighbours there.
  template <int kElementBytes>
  RESTRIDE_HD constexpr Access transposed(int row, int col, int elems = 1) const {
    const bool inside = col < cols && row + elems <= rows;
    return {(std::int64_t{col} * rows + row) * kElementBytes, inside ? elems : 0};
  }
};

/// The tile that a block works on: the source's element in its corner.
struct Corner {
  int row = 0;
  int col = 0;
};

/// Tiles of kRows x kCols over the source. One number, not two grid dimensions: gridDim.y ends at 65535,
/// gridDim.x at 2^31 - 1. Blocks start in the order of their numbers, so neighbours run together.
template <int kRows, int kCols>
struct TileGrid {
  int down = 0;
  int across = 0;

  constexpr TileGrid() = default;
  constexpr explicit TileGrid(const Matrix& m)
      : down(static_cast<int>(ceil_div(m.rows, kRows))), across(static_cast<int>(ceil_div(m.cols, kCols))) {}

  RESTRIDE_HD constexpr std::int64_t tiles() const { return std::int64_t{down} * across; }
  /// Numbered along the source's rows: neighbours read on where the other reads.
  RESTRIDE_HD constexpr Corner along_src(int tile) const { return {tile / across * kRows, tile % across * kCols}; }
  /// Numbered along the destination's rows: neighbours write on where the other writes.
  RESTRIDE_HD constexpr Corner along_dst(int tile) const { return {tile % down * kRows, tile / down * kCols}; }
};

}  // namespace restride::lab
