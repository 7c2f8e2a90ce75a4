// Which modes a two-sided tile holds: the row set (dense in dst) and the column set (dense in src).
#pragma once

#include "src/layout/canonical.h"

namespace restride::plan {

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
  ModeSet rows;                ///< dense in dst, starting at a stride of one unit
  ModeSet cols;                ///< dense in src
  bool cols_backwards = false; ///< the source's fast mode runs downwards; the kernel turns it around
};

/// How far the sets grow: the planner and the launcher ask for the same.
inline constexpr std::int64_t kTileRowBytes = 16384;
inline constexpr std::int64_t kTileColBytes = 256;

/// The sets of a tile, or false when the fast modes of both sides are the same one, or a side has none.
/// Columns grow to about `col_bytes` of source, rows to whole destination lines or about `row_bytes`.
bool tile_sets(const layout::Canonical& c, std::int64_t row_bytes, std::int64_t col_bytes, TileSets* out);

}  // namespace restride::plan
