// How a 32 x 32 tile lies in shared memory, and in which order the tiles are taken.
//
// Shared memory has 32 banks of 4 bytes. The tile is written along its rows and read down its columns; a
// layout is good when the 32 elements of a row and the 32 of a column each lie in 32 different banks (or
// in the same word, which one bank gives to all who ask).
#pragma once

#include "lab/maps/access.h"

namespace restride::lab {

inline constexpr int kTile = 32;

/// Rows back to back: with 4 bytes an element a column lies in one bank, a 32-way conflict (2 bytes: 16, 1: 8).
struct PlainStage {
  static constexpr int kElements = kTile * kTile;
  RESTRIDE_HD static constexpr int element(int row, int col) { return row * kTile + col; }
};

/// One element more a row: neighbours in a column lie one bank apart.
struct PaddedStage {
  static constexpr int kElements = kTile * (kTile + 1);
  RESTRIDE_HD static constexpr int element(int row, int col) { return row * (kTile + 1) + col; }
};

/// The column's bits flipped by the row's: a permutation within each row, no space lost.
struct SwizzledStage {
  static constexpr int kElements = kTile * kTile;
  RESTRIDE_HD static constexpr int element(int row, int col) { return row * kTile + (col ^ row); }
};

/// Tiles in the order of the source's rows, as the seeds take them.
struct SourceOrder {
  template <class Grid>
  RESTRIDE_HD static constexpr Corner corner(const Grid& grid, int tile) {
    return grid.along_src(tile);
  }
};

/// Tiles in the order of the destination's rows.
struct DestinationOrder {
  template <class Grid>
  RESTRIDE_HD static constexpr Corner corner(const Grid& grid, int tile) {
    return grid.along_dst(tile);
  }
};

/// Tiles along diagonals, so that blocks that run together write to different columns of tiles: on chips
/// whose memory channels were picked by plain address bits, tiles below each other fell on one channel.
struct DiagonalOrder {
  template <class Grid>
  RESTRIDE_HD static constexpr Corner corner(const Grid& grid, int tile) {
    const int down = tile % grid.down;
    const int across = (tile / grid.down + down) % grid.across;
    return {down * kTile, across * kTile};
  }
};

}  // namespace restride::lab
