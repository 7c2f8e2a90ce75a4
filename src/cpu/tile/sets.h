// Which modes a tile holds: the row set (dense in dst) and the column set (dense in src).
#pragma once

#include "src/cpu/costs.h"
#include "src/cpu/records.h"
#include "src/cpu/sets.h"

namespace restride::cpu {

struct TileSets {
  ModeSet rows;                 ///< dense in dst, starting at a stride of one unit
  ModeSet cols;                 ///< dense in src
  bool cols_backwards = false;  ///< the source's fast mode runs downwards; the kernel reverses it
};

/// How far the sets grow, in the bid and in the prepare alike.
inline constexpr std::int64_t kTileRowBytes = 16384;
inline constexpr std::int64_t kTileColBytes = 4096;

/// The sets of a tile, or false when the fast modes of both sides are the same one, or a side has none.
/// Columns grow to about `col_bytes` of source, rows to whole destination lines or about `row_bytes`.
bool tile_sets(const layout::Canonical& c, std::int64_t row_bytes, std::int64_t col_bytes, TileSets* out);

/// True where `bytes` divides the strides in dst of all modes but the rows': columns start at multiples of it where the
/// first one does.
bool columns_start_at(const layout::Canonical& c, const TileSets& sets, std::int64_t bytes);

/// The first mode of each set alone: matrices are moved one by one, however a tile's sets grow.
TileSets matrix_sets(const layout::Canonical& c, const TileSets& sets);
/// Matrices with rows and columns of 16 bytes or more: in the caches they are moved without staging.
bool plain_matrices(const layout::Canonical& c, const TileSets& sets);
/// The same, dense on both sides, with columns of a line at least: what kernels write past the caches column by column.
bool streamed_matrices(const layout::Canonical& c, const TileSets& sets);
/// As plain_matrices, of records: a block's rows and columns at least.
bool plain_record_matrices(const Records& r, const TileSets& sets);

/// True when every column of dst starts on a line, the buffer itself willing.
bool columns_on_lines(const layout::Canonical& c);
/// True when rows and columns are whole lines.
bool all_on_lines(const layout::Canonical& c, const TileSets& sets);
/// True where the rows of a first tile spread over the sets of the first cache, if src starts a page: at most `most` of
/// them start in one.
bool rows_spread(const layout::Canonical& c, const TileSets& sets, std::int64_t tile_rows,
                 std::int64_t most = kSizes.some_lines_meet_from);

}  // namespace restride::cpu
