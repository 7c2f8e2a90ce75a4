// Which modes a two-sided tile holds: the row set (dense in dst) and the column set (dense in src).
#pragma once

#include "src/layout/canonical.h"

namespace restride::cpu {

/// A chain of canonical modes that is dense on one side, innermost first.
struct ModeSet {
  detail::FixedVector<std::uint8_t, layout::kMaxCopyModes> modes;
  std::int64_t points = 1;
  bool has(std::size_t mode) const noexcept {
    for (std::uint8_t m : modes)
      if (m == mode) return true;
    return false;
  }
};

struct TileSets {
  ModeSet rows;                 ///< dense in dst, starting at a stride of one unit
  ModeSet cols;                 ///< dense in src
  bool cols_backwards = false;  ///< the source's fast mode runs downwards; the kernel turns it around
};

/// How far the sets grow: the planner and the launcher ask for the same.
inline constexpr std::int64_t kTileRowBytes = 16384;
inline constexpr std::int64_t kTileColBytes = 4096;

/// The sets of a tile, or false when the fast modes of both sides are the same one, or a side has none.
/// Columns grow to about `col_bytes` of source, rows to whole destination lines or about `row_bytes`.
bool tile_sets(const layout::Canonical& c, std::int64_t row_bytes, std::int64_t col_bytes, TileSets* out);

/// Matrices with rows and columns of 16 bytes or more: in the caches they are moved without staging.
bool plain_matrices(const layout::Canonical& c, const TileSets& sets);

/// The inside of a packed tile: how many points of each canonical mode are in it.
struct PackedSets {
  detail::FixedVector<std::int64_t, layout::kMaxCopyModes> points;  ///< by mode; 1 is outside
  /// Modes of the run in src, innermost first. One that runs downwards there is walked the other way round. The run is
  /// dense, or has short gaps, which are read along: pixels of which some channels are left out.
  detail::FixedVector<std::uint8_t, layout::kMaxCopyModes> src_run;
  int dst_run = 0;         ///< modes 0 .. dst_run-1 are the dense run in dst
  std::int64_t units = 1;  ///< points of the whole tile
  std::int64_t dst_run_units = 1;
  std::int64_t src_run_units = 1;
  std::int64_t src_run_bytes = 0;  ///< gaps included
  bool woven = false;              ///< two modes may be transposed in registers: neither is turned inside dst's run

  bool in_src_run(std::uint8_t mode) const noexcept {
    for (std::uint8_t m : src_run)
      if (m == mode) return true;
    return false;
  }
};

/// How many of `extent` points, `each` bytes apart, make a run of run_bytes; a little more rather than a cut block.
std::int64_t block_of(std::int64_t extent, std::int64_t each, std::int64_t run_bytes);

inline constexpr std::int64_t kPackedRunBytes = 8192;  ///< what runs aim for; halved until the tile fits
inline constexpr std::int64_t kPackedUnits = 8192;
inline constexpr std::int64_t kPackedBytes = 16 << 10;  ///< of units in dst's width, and of the gaps read along
inline constexpr std::int64_t kPackedRuns = 2048;       ///< on either side
inline constexpr int kPackedModes = 16;

/// Sets whose runs reach `dst_bytes` in dst and `src_bytes` in src where the modes allow it; false when dst has no
/// dense mode, src none that is nearly so, or when the tile would exceed max_units or max_modes.
bool packed_sets(const layout::Canonical& c, std::int64_t dst_bytes, std::int64_t src_bytes, std::int64_t max_units,
                 int max_modes, PackedSets* out);

}  // namespace restride::cpu
