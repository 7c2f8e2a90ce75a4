// The classic transpose: a 32 x 32 tile goes through shared memory, so that both sides move along their rows.
#pragma once

#include "lab/maps/stage.h"

namespace restride::lab {

/// 32 x 8 threads, four elements a thread. Step s loads tile row ty + 8 s at column tx; after the barrier
/// it stores tile column ty + 8 s at row tx.
template <int kBytes, class Stage, class Order = SourceOrder>
struct TileTranspose {
  static constexpr int kElementBytes = kBytes, kThreads = 256, kLoads = 4, kStores = 4, kGets = 4;
  static constexpr int kPutBytes = kBytes, kGetBytes = kBytes, kStageBytes = Stage::kElements * kBytes;
  static constexpr int kRowsAStep = kThreads / kTile;
  Matrix matrix;
  TileGrid<kTile, kTile> grid;

  constexpr explicit TileTranspose(const Matrix& m) : matrix(m), grid(m) {}

  constexpr std::int64_t tiles() const { return grid.tiles(); }
  RESTRIDE_HD constexpr Access load(int tile, int thread, int step) const {
    const Corner at = Order::corner(grid, tile);
    return matrix.source<kBytes>(at.row + slow(thread, step), at.col + fast(thread));
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const {
    const Corner at = Order::corner(grid, tile);
    return matrix.transposed<kBytes>(at.row + fast(thread), at.col + slow(thread, step));
  }
  RESTRIDE_HD constexpr int put(int thread, int step) const {
    return Stage::element(slow(thread, step), fast(thread)) * kBytes;
  }
  RESTRIDE_HD constexpr int get(int thread, int step) const {
    return Stage::element(fast(thread), slow(thread, step)) * kBytes;
  }

 private:
  RESTRIDE_HD static constexpr int fast(int thread) { return thread % kTile; }
  RESTRIDE_HD static constexpr int slow(int thread, int step) { return thread / kTile + step * kRowsAStep; }
};

template <int kBytes>
using Shared = TileTranspose<kBytes, PlainStage>;
template <int kBytes>
using Padded = TileTranspose<kBytes, PaddedStage>;
template <int kBytes>
using Swizzle = TileTranspose<kBytes, SwizzledStage>;
template <int kBytes>
using AlongDst = TileTranspose<kBytes, SwizzledStage, DestinationOrder>;
template <int kBytes>
using Diagonal = TileTranspose<kBytes, SwizzledStage, DiagonalOrder>;

}  // namespace restride::lab
