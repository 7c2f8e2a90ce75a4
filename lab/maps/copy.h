// Plain copies: one element a thread, and a 32 x 32 tile with four elements a thread.
#pragma once

#include "lab/maps/access.h"

namespace restride::lab {

/// Thread i moves element i: a warp touches 32 neighbours on both sides.
template <int kBytes>
struct CopyElement {
  static constexpr int kElementBytes = kBytes, kThreads = 256, kLoads = 1, kStores = 1, kStageBytes = 0;
  std::int64_t elements = 0;

  constexpr explicit CopyElement(const Matrix& m) : elements(m.elements()) {}

  constexpr std::int64_t tiles() const { return ceil_div(elements, kThreads); }
  RESTRIDE_HD constexpr Access load(int tile, int thread, int) const {
    const std::int64_t i = std::int64_t{tile} * kThreads + thread;
    return {i * kBytes, i < elements ? 1 : 0};
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const { return load(tile, thread, step); }
};

/// 32 x 8 threads walk down a 32 x 32 tile, eight rows a step: the transposes' loads without the transpose.
template <int kBytes>
struct CopyTile {
  static constexpr int kElementBytes = kBytes, kThreads = 256, kTile = 32, kLoads = 4, kStores = 4;
  static constexpr int kStageBytes = 0;
  static constexpr int kRowsAStep = kThreads / kTile;
  Matrix matrix;
  TileGrid<kTile, kTile> grid;

  constexpr explicit CopyTile(const Matrix& m) : matrix(m), grid(m) {}

  constexpr std::int64_t tiles() const { return grid.tiles(); }
  RESTRIDE_HD constexpr Access load(int tile, int thread, int step) const {
    const Corner at = grid.along_src(tile);
    return matrix.source<kBytes>(at.row + thread / kTile + step * kRowsAStep, at.col + thread % kTile);
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int step) const { return load(tile, thread, step); }
};

/// The same tile by way of shared memory: each thread puts its elements down and takes them up again.
template <int kBytes>
struct CopyThroughStage : CopyTile<kBytes> {
  using Base = CopyTile<kBytes>;
  static constexpr int kGets = Base::kStores, kPutBytes = kBytes, kGetBytes = kBytes;
  static constexpr int kStageBytes = Base::kTile * Base::kTile * kBytes;

  using Base::Base;

  RESTRIDE_HD constexpr int put(int thread, int step) const { return (thread + step * Base::kThreads) * kBytes; }
  RESTRIDE_HD constexpr int get(int thread, int step) const { return put(thread, step); }
};

}  // namespace restride::lab
