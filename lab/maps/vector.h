// The transpose with 16 bytes a lane on both sides, through an XOR-swizzled tile.
//
// Names: a vector is 16 bytes, kV elements; a word is the 4 bytes of a bank, kK elements of one row. A
// cell is kV rows of one word: a thread gathers its kV words, transposes them in registers and has kK
// whole vectors of the destination. For 4-byte elements kK is 1 and there is nothing to transpose.
#pragma once

#include "lab/maps/access.h"

namespace restride::lab {

/// Rows and columns of the tile by element size: every row of it is at least 128 bytes on both sides.
template <int kBytes>
struct VectorTileShape {
  static constexpr int kRows = kBytes == 1 ? 128 : 64;
  static constexpr int kCols = kBytes == 1 ? 128 : 64;
};

/// Lanes of a warp over cells: eight cells down (8 x 16 = 128 bytes of a destination row) by the four words
/// of one vector (4 kK destination rows). A row group is the kV rows of a cell; its number, flipped into
/// the number of the vector within the row, puts the 32 words of a gather in 32 banks.
template <int kBytes>
struct VectorCells {
  static constexpr int kV = 16 / kBytes, kK = 4 / kBytes;
  static constexpr int kRows = VectorTileShape<kBytes>::kRows, kCols = VectorTileShape<kBytes>::kCols;
  static constexpr int kThreads = 256, kWarps = kThreads / kWarp;
  static constexpr int kGroups = kRows / kV;                        ///< row groups of the tile
  static constexpr int kCells = kGroups * (kCols / kK) / kThreads;  ///< a thread's share
  static_assert(kGroups % 8 == 0 && kCells >= 1 && kGroups * (kCols / kK) % kThreads == 0);

  /// Corner, within the tile, of a thread's cell: kV rows of kK columns.
  RESTRIDE_HD static constexpr Corner cell(int thread, int number) {
    constexpr int kBlocks = kGroups / 8;  // runs of eight row groups: neighbouring warps extend the same rows
    const int lane = thread % kWarp;
    const int piece = number * kWarps + thread / kWarp;
    const int group = piece % kBlocks * 8 + lane % 8;
    const int word = piece / kBlocks * 4 + lane / 8;
    return {group * kV, word * kK};
  }
};

/// One tile a block, tiles in the destination's order. For rows of whole vectors on both sides.
template <int kBytes>
struct Vector {
  using Cells = VectorCells<kBytes>;
  static constexpr int kElementBytes = kBytes, kThreads = Cells::kThreads;
  static constexpr int kV = Cells::kV, kK = Cells::kK, kRows = Cells::kRows, kCols = Cells::kCols;
  static constexpr int kStageBytes = kRows * kCols * kBytes;
  static constexpr int kLoads = kRows * kCols / kV / kThreads, kPutBytes = 16;
  static constexpr int kStores = Cells::kCells * kK, kGets = Cells::kCells * kV, kGetBytes = 4;
  Matrix matrix;
  TileGrid<kRows, kCols> grid;

  constexpr explicit Vector(const Matrix& m) : matrix(m), grid(m) {}

  /// Whether both sides' rows start on a multiple of 16 bytes, given that the tensors do.
  static constexpr bool fits(const Matrix& m) { return m.rows % kV == 0 && m.cols % kV == 0; }

  /// The swizzle: byte of (row, col) in the tile.
  RESTRIDE_HD static constexpr int stage_byte(int row, int col) {
    const int byte = col * kBytes;
    const int vector = byte / 16 ^ (row / kV & 7);
    return row * kCols * kBytes + vector * 16 + byte % 16;
  }

  constexpr std::int64_t tiles() const { return grid.tiles(); }

  RESTRIDE_HD constexpr Access load(int tile, int thread, int step) const {
    const Corner at = grid.along_dst(tile), in = loaded(thread, step);
    return matrix.template source<kBytes>(at.row + in.row, at.col + in.col, kV);
  }
  RESTRIDE_HD constexpr int put(int thread, int step) const {
    const Corner in = loaded(thread, step);
    return stage_byte(in.row, in.col);
  }
  /// Word `step % kV` of cell `step / kV`.
  RESTRIDE_HD constexpr int get(int thread, int step) const {
    const Corner cell = Cells::cell(thread, step / kV);
    return stage_byte(cell.row + step % kV, cell.col);
  }
  /// Destination row `step % kK` of cell `step / kK`.
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const {
    const Corner at = grid.along_dst(tile), cell = Cells::cell(thread, step / kK);
    return matrix.template transposed<kBytes>(at.row + cell.row, at.col + cell.col + step % kK, kV);
  }

  /// For the replay: the store that a gather belongs to, and where a store's element comes from.
  static constexpr int store_of_get(int step) { return step / kV * kK; }
  constexpr int stage_of(int thread, int step, int elem) const {
    const Corner cell = Cells::cell(thread, step / kK);
    return stage_byte(cell.row + elem, cell.col + step % kK);
  }

 private:
  RESTRIDE_HD static constexpr Corner loaded(int thread, int step) {
    constexpr int kPieces = kCols / kV;
    const int piece = step * kThreads + thread;
    return {piece / kPieces, piece % kPieces * kV};
  }
};

}  // namespace restride::lab
