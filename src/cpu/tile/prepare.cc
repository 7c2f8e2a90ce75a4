#include "src/cpu/tile/prepare.h"

#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cpu/order.h"
#include "src/cpu/planner.h"
#include "src/cpu/tile/kernel.h"

namespace restride::cpu {

using plan::ParamId;

void split_modes(const layout::Canonical& c, const TileSets& sets, CpuArgs* a) {
  for (std::uint8_t m : sets.rows.modes) a->row_set.push(c.modes[m]);
  for (std::uint8_t m : sets.cols.modes) {
    layout::CopyMode mode = c.modes[m];
    if (sets.cols_backwards) turn(&mode, a);
    a->col_set.push(mode);
  }
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (!sets.rows.has(i) && !sets.cols.has(i)) a->nest.push(c.modes[i]);
}

bool take_tile(const plan::Candidate& k, const TileSets& sets, std::int64_t max_column_bytes, std::int64_t block_cols,
               CpuArgs* a) {
  a->rows = sets.rows.points;
  a->cols = sets.cols.points;
  a->tile_rows = k.get(ParamId::kTileRows);
  a->tile_cols = k.get(ParamId::kTileCols);
  if (a->tile_cols > kMaxTileRowBytes) return false;  // before it is multiplied
  a->band_cols = k.get(ParamId::kBandCols);
  a->chunk_rows = k.get(ParamId::kBlockUnits);
  const std::int64_t line_rows = 64 / std::gcd(std::int64_t{a->dst_unit}, std::int64_t{64});
  const std::int64_t staged = a->cast_run != nullptr ? a->dst_unit : a->src_unit;
  const bool sane = a->tile_rows >= 1 && a->tile_rows <= kMaxTileRows && a->tile_cols >= 1 &&
                    a->tile_cols * staged <= kMaxTileRowBytes && a->chunk_rows >= a->tile_rows &&
                    a->tile_rows * a->dst_unit <= max_column_bytes && a->band_cols >= a->tile_cols &&
                    a->band_cols <= kMaxBandCols && (a->band_cols >= a->cols || a->band_cols % a->tile_cols == 0) &&
                    (a->tile_cols >= a->band_cols || a->tile_cols >= a->cols || a->tile_cols % block_cols == 0) &&
                    (a->tile_rows >= a->rows || a->tile_rows % line_rows == 0) &&
                    (a->chunk_rows >= a->rows || a->chunk_rows % a->tile_rows == 0);
  if (!sane) return false;
  a->chunk_rows =
      std::min(a->chunk_rows, std::max(a->rows, a->tile_rows));  // a plan from a file may say more than there are
  a->tasks = a->nest.points() * tile_chunks(*a) * tile_bands(*a);
  return true;
}

void share_tiles(int threads, CpuArgs* a) {
  constexpr std::int64_t kLeastTiles = 4;
  if (a->tasks >= threads) return;
  const std::int64_t across = a->nest.points() * tile_bands(*a);
  const std::int64_t chunk = ceil_div(a->rows, ceil_div(std::int64_t{threads}, across));
  const std::int64_t tiles = std::max(ceil_div(chunk, a->tile_rows), kLeastTiles);
  a->chunk_rows = std::min(a->chunk_rows, tiles * a->tile_rows);
  a->tasks = across * tile_chunks(*a);
}

void share_matrices(CpuArgs* a) {
  constexpr std::int64_t kEnoughTasks = 16;
  constexpr std::int64_t kBandBytes = 32 << 10;
  if (a->nest.points() >= kEnoughTasks || a->units * a->dst_unit < kBytesPerThread) return;
  const std::int64_t line = 64 / a->dst_unit;  // columns of src that lie in one line
  const std::int64_t band = ceil_div(ceil_div(kBandBytes, a->rows * a->dst_unit), line) * line;
  const std::int64_t bands = a->cols / band;
  if (bands < 2) return;
  a->last_units = a->cols - (bands - 1) * band;  // a band at least, so it fills a block
  a->cols = band;
  const layout::CopyMode& column = a->col_set.modes[0];
  Nest nest;
  nest.push({bands, band * column.dst_stride, band * column.src_stride});
  for (int i = 0; i < a->nest.rank; ++i) nest.push(a->nest.modes[i]);
  a->nest = nest;
}

}  // namespace restride::cpu
