// The transpose whose loads are Hopper's bulk tensor copies: the engine writes the swizzled tile itself.
//
// The engine's own swizzle flips the number of a 128-byte line, modulo 8, into the number of the vector
// within the line. The gather wants the row *group* there (vector.h), so the tensor map describes the
// source as three modes, (column, group, row within group), and the lines arrive in the order row within
// group, group: line number modulo 8 is then the group modulo 8.
#pragma once

#include "lab/maps/vector.h"

namespace restride::lab {

template <int kBytes>
struct Bulk {
  using Cells = VectorCells<kBytes>;
  static constexpr int kElementBytes = kBytes, kThreads = Cells::kThreads;
  static constexpr int kV = Cells::kV, kK = Cells::kK, kRows = Cells::kRows, kCols = Cells::kCols;
  static constexpr int kGroups = Cells::kGroups, kCells = Cells::kCells;
  static constexpr int kLineBytes = 128, kLineElems = kLineBytes / kBytes;
  static constexpr int kBoxes = kCols / kLineElems, kBoxBytes = kRows * kLineBytes;
  static constexpr int kStageBytes = kRows * kCols * kBytes;
  static constexpr bool kEngineLoads = true;  ///< no warp requests: the loads below describe the engine's work
  static constexpr int kLoads = kRows * kCols / kV / kThreads, kPutBytes = 16;
  static constexpr int kStores = kCells * kK, kGets = kCells * kV, kGetBytes = 4;
  Matrix matrix;
  TileGrid<kRows, kCols> grid;

  constexpr explicit Bulk(const Matrix& m) : matrix(m), grid(m) {}

  static constexpr bool fits(const Matrix& m) { return Vector<kBytes>::fits(m); }

  /// Byte of (row, col) in a stage: which box, which line of it, which vector of the line.
  RESTRIDE_HD static constexpr int stage_byte(int row, int col) {
    const int line = row % kV * kGroups + row / kV;
    const int byte = col % kLineElems * kBytes;
    const int vector = byte / 16 ^ (line & 7);
    return col / kLineElems * kBoxBytes + line * kLineBytes + vector * 16 + byte % 16;
  }

  constexpr std::int64_t tiles() const { return grid.tiles(); }
  RESTRIDE_HD constexpr Corner corner(int tile) const { return grid.along_dst(tile); }

  RESTRIDE_HD constexpr Access load(int tile, int thread, int step) const {
    const Corner at = corner(tile), in = loaded(thread, step);
    return matrix.template source<kBytes>(at.row + in.row, at.col + in.col, kV);
  }
  RESTRIDE_HD constexpr int put(int thread, int step) const {
    const Corner in = loaded(thread, step);
    return stage_byte(in.row, in.col);
  }
  RESTRIDE_HD constexpr int get(int thread, int step) const {
    const Corner cell = Cells::cell(thread, step / kV);
    return stage_byte(cell.row + step % kV, cell.col);
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const {
    const Corner at = corner(tile);
    const Corner cell = Cells::cell(thread, step / kK);
    return matrix.template transposed<kBytes>(at.row + cell.row, at.col + cell.col + step % kK, kV);
  }

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
