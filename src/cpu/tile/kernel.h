// Moves: transposes: rows are runs of src, columns are runs of dst, in any batch.
// Applies when: dst's fastest modes (the row set) and src's fastest modes (the column set) are disjoint. Each set
//   may be several modes, as long as it is one dense chain on its own side.
// Task map: task t is (outer position, chunk of rows, band of columns), band fastest; inside it, tiles of tile_rows x
//   tile_cols walk across the band, then down. So source rows are read in order, and the band's destination pages
//   stay within reach of the TLB.
// Buffers: a tile of source rows, converted on the way in if there is a cast; with `near` a piece of it, or none
//   (source-inl.h). One line a column that carries the end of a tile to the next one, so that unaligned columns too are
//   written in whole lines; where columns lie an even number of lines apart, the last line of every odd one, see
//   late_lines-inl.h.
// Traffic: every source line read once (twice at ragged block edges), every destination line written once, past the
//   caches when `stream`; the next tile is prefetched while this one is shuffled.
// Source and measured: tile transposes as in HPTT and Intel's manual; the carried line is ours. bench/results.
#pragma once

#include "src/base/checked.h"
#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// The largest tile a plan may ask for.
inline constexpr std::int64_t kMaxTileRows = 128;
inline constexpr std::int64_t kMaxTileRowBytes = 512;  ///< tile_cols * dst_unit
inline constexpr std::int64_t kMaxColumnBytes = 1024;  ///< tile_rows * dst_unit
inline constexpr std::int64_t kMaxBandCols = 2048;
/// From staged row to staged row: a constant, so that a block's loads need no address arithmetic, and an odd number
/// of lines, so that a column of blocks spreads over the cache's sets.
inline constexpr std::int64_t kStagePitch = kMaxTileRowBytes + 64;

/// Rows that are prefetched side by side, and the bytes of each that make it worth it.
inline constexpr std::int64_t kSideBySide = 8;
inline constexpr std::int64_t kSideBySideBytes = 256;

/// True where side-by-side prefetching takes two lines of each row in turn, on AMD's processors. Zen 4 reads lines by
/// twos as fast as one stream, 3.0 ns a line, lone ones or four of a row at 4.1.
inline bool prefetched_by_pairs(const TileArgs& a) noexcept {
  return !a.near && (a.source == Source::kStaged || a.cast_run != nullptr);
}

/// Tasks of an outer position: chunks of rows times bands of columns.
inline std::int64_t tile_chunks(const TileArgs& a) noexcept { return ceil_div(a.rows, a.chunk_rows); }
inline std::int64_t tile_bands(const TileArgs& a) noexcept { return ceil_div(a.cols, a.band_cols); }

/// The kernel of the instruction set in use for this unit.
KernelCode<TileArgs> tile_kernel(int dst_unit) noexcept;

}  // namespace restride::cpu
