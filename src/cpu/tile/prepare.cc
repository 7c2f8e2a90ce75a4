#include "src/cpu/tile/prepare.h"

#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cpu/costs.h"
#include "src/cpu/prepare.h"
#include "src/cpu/records.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/matrices.h"
#include "src/cpu/tile/records.h"
#include "src/cpu/tile/sets.h"

namespace restride::cpu {

using layout::Canonical;
using plan::ParamId;

namespace {

/// Puts the canonical modes of a set into a nest of its own and the others into the outer nest.
void split_modes(const Canonical& c, const TileSets& sets, TileArgs* a) {
  for (std::uint8_t m : sets.rows.modes) a->row_set.push(c.modes[m]);
  for (std::uint8_t m : sets.cols.modes) {
    layout::CopyMode mode = c.modes[m];
    if (sets.cols_backwards) reverse(&mode, a);
    a->col_set.push(mode);
  }
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (!sets.rows.has(i) && !sets.cols.has(i)) a->nest.push(c.modes[i]);
}

/// A parameter that is one of 0 ... most.
std::int64_t choice(const Canonical& c, const plan::Candidate& k, ParamId id, std::int64_t most) {
  const std::int64_t value = k.get(id);
  if (value < 0 || value > most) refuse(k, c);
  return value;
}

/// How rows are prefetched, which is told apart only where all of them are.
void take_prefetch(const Canonical& c, const plan::Candidate& k, TileArgs* a) {
  a->side_by_side = choice(c, k, ParamId::kSideBySide, 1) != 0;
  a->odd_ahead = choice(c, k, ParamId::kOddAhead, 1) != 0;
  if (a->odd_ahead && !a->near) refuse(k, c);
}

/// Fills in a tile's sizes as the plan says, and the tasks; false when no kernel could run with them.
bool take_tile(const plan::Candidate& k, const TileSets& sets, std::int64_t max_column_bytes, std::int64_t block_cols,
               TileArgs* a) {
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

/// Where tasks are fewer than `threads`, chunks of rows are cut, but not so short that their ends, lines written in
/// part, count for more than another thread brings.
void cut_chunks(int threads, TileArgs* a) {
  if (a->tasks >= threads) return;
  const std::int64_t across = a->nest.points() * tile_bands(*a);
  const std::int64_t chunk = ceil_div(a->rows, ceil_div(std::int64_t{threads}, across));
  const std::int64_t tiles = std::max(ceil_div(chunk, a->tile_rows), kSizes.tile_least_task_tiles);
  a->chunk_rows = std::min(a->chunk_rows, tiles * a->tile_rows);
  a->tasks = across * tile_chunks(*a);
}

/// Blocks of records that follow each other down the columns before those beside them, so that lines of dst are
/// finished early; one where so many rows would push each other out of the first cache.
std::int64_t record_blocks_down(const Canonical& r, const TileSets& sets) {
  constexpr std::int64_t kBlocks = 4;
  const std::int64_t rows = kBlocks * least_record_rows(std::max(r.dst_unit, r.src_unit));
  const std::int64_t in_a_set = most_in_a_cache_set(r, sets.rows, Side::kSrc, rows);
  return in_a_set < rows && in_a_set <= kSizes.lines_meet_from ? kBlocks : 1;
}

}  // namespace

TileArgs prepare_tile_units(const Canonical& c, const plan::Candidate& k, int threads) {
  TileSets sets;
  if (!tile_sets(c, kTileRowBytes, kTileColBytes, &sets)) refuse(k, c);
  TileArgs a;
  set_common(c, k, &a);
  a.kernel = tile_kernel(c.dst_unit);
  split_modes(c, sets, &a);
  a.sink = static_cast<Sink>(choice(c, k, ParamId::kSink, static_cast<std::int64_t>(Sink::kCarried)));
  a.source = static_cast<Source>(choice(c, k, ParamId::kSource, static_cast<std::int64_t>(Source::kInPlace)));
  if ((a.sink != Sink::kCaches && !a.stream) || (a.sink == Sink::kLines && !columns_start_at(c, sets, 64)) ||
      (a.source == Source::kInPlace && c.cast))
    refuse(k, c);
  a.late = choice(c, k, ParamId::kLate, c.dst_unit <= 2 && a.sink != Sink::kCaches ? 1 : 0) != 0;
  take_prefetch(c, k, &a);
  const std::int64_t block_cols = 16 / c.dst_unit;  // a sink carries whole blocks of columns from tile to tile
  if (!take_tile(k, sets, kMaxColumnBytes, block_cols, &a)) refuse(k, c);
  cut_chunks(threads, &a);
  return a;
}

TileArgs prepare_tile_records(const Canonical& c, const plan::Candidate& k, int threads) {
  Records records;
  TileSets sets;
  if (!tile_records(c, &records) || records.copy.dst_unit != k.get(ParamId::kRecordBytes) ||
      !tile_sets(records.copy, kTileRowBytes, kTileColBytes, &sets))
    refuse(k, c);
  TileArgs a;
  set_common(records.copy, k, &a);
  const auto way =
      static_cast<RecordWay>(choice(c, k, ParamId::kRecordWay, static_cast<std::int64_t>(RecordWay::kMerged)));
  a.kernel = record_kernel(a.dst_unit, a.src_unit, records.reversed, way);
  a.record = records.shape();
  a.src_shift += records.src_shift();
  a.source = static_cast<Source>(choice(c, k, ParamId::kSource, static_cast<std::int64_t>(Source::kInPlace)));
  take_prefetch(c, k, &a);
  split_modes(records.copy, sets, &a);
  if (!take_tile(k, sets, kMaxRecordColumnBytes, 1, &a)) refuse(k, c);
  const std::int64_t block = kMaxRecordBlockCols;  // whole ones are read from the stage
  if (ceil_div(a.tile_cols, block) * block * a.src_unit > kMaxTileRowBytes) refuse(k, c);
  cut_chunks(threads, &a);
  return a;
}

MatrixArgs prepare_tile_matrices(const Canonical& c, const plan::Candidate& k, int) {
  TileSets sets;
  MatrixArgs a;
  Records records;
  const bool of_units = tile_sets(c, kTileRowBytes, kTileColBytes, &sets);
  if (of_units) sets = matrix_sets(c, sets);
  if (of_units ? !plain_matrices(c, sets)
               : !tile_records(c, &records) || !tile_sets(records.copy, kTileRowBytes, kTileColBytes, &sets) ||
                     !plain_record_matrices(records, sets))
    refuse(k, c);
  const Canonical& of = of_units ? c : records.copy;
  set_common(of, k, &a);
  if (of_units) {
    a.kernel = matrices_kernel(c.dst_unit);
  } else {
    a.kernel = record_matrices_kernel(of.dst_unit, of.src_unit, records.reversed);
    a.record = records.shape();
    a.src_shift += records.src_shift();
    a.blocks_down = record_blocks_down(of, sets);
  }
  a.rows = sets.rows.points;
  a.cols = sets.cols.points;
  a.row_src_stride = of.modes[0].src_stride;
  const std::size_t col = sets.cols.modes[0];
  layout::CopyMode column = of.modes[col];
  if (sets.cols_backwards) reverse(&column, &a);
  a.col_dst_stride = column.dst_stride;
  const std::int64_t band = k.get(ParamId::kBandCols);
  if (band < (of_units ? 16 / c.dst_unit : kLeastRecordCols) || band > a.cols) refuse(k, c);  // a band fills a block
  a.down_columns = choice(c, k, ParamId::kOrder, 2) == 0;
  if (const std::int64_t bands = a.cols / band; bands > 1) {
    a.last_cols = a.cols - (bands - 1) * band;
    a.cols = band;
    a.nest.push({bands, band * column.dst_stride, band * column.src_stride});
  }
  for (std::size_t m = 1; m < of.modes.size(); ++m)
    if (m != col) a.nest.push(of.modes[m]);
  if (a.stream && !(of_units && a.last_cols == 0 && streamed_matrices(c, sets))) refuse(k, c);
  a.tasks = a.nest.points();
  return a;
}

}  // namespace restride::cpu
