// The bid of the family tile: sizes of tiles, bands and chunks, for units and for records.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/bid.h"
#include "src/cpu/cached_costs.h"
#include "src/cpu/records.h"
#include "src/cpu/share.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/matrices.h"
#include "src/cpu/tile/matrices_bid.h"
#include "src/cpu/tile/prepare.h"
#include "src/cpu/tile/records.h"
#include "src/cpu/tile/sets.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// Rows of a task of tiles `rows` high. Threads share tasks: a copy worth several threads is cut into some, down the
/// rows, where its `bands` alone are too few; but not so short that their ends, lines written in part, count.
std::int64_t chunk_rows(const Canonical& c, const TileSets& sets, std::int64_t rows, std::int64_t bands) {
  std::int64_t chunk =
      sets.rows.points <= kSizes.tile_whole_rows ? sets.rows.points : kSizes.tile_task_rows / rows * rows;
  if (bands >= kTasksToShare || c.dst_bytes() < kBytesPerThread) return chunk;
  const std::int64_t pieces = ceil_div(kTasksToShare, bands);
  const std::int64_t piece = ceil_div(ceil_div(sets.rows.points, pieces), rows) * rows;
  return std::min(chunk, std::max(piece, kSizes.tile_task_tiles * rows));
}

/// A tile, and the widest band that its row of tiles may walk across.
struct Shape {
  std::int64_t rows, cols, widest;
};

void push_shape(const Canonical& c, const TileSets& sets, const Shape& s, Candidate* k) {
  const std::int64_t band = sets.cols.points > s.cols ? s.cols * std::max<std::int64_t>(1, s.widest / s.cols) : s.cols;
  const std::int64_t bands = ceil_div(sets.cols.points, band) * (c.units / (sets.rows.points * sets.cols.points));
  k->params.push_back({ParamId::kTileRows, s.rows});
  k->params.push_back({ParamId::kTileCols, s.cols});
  k->params.push_back({ParamId::kBandCols, band});
  k->params.push_back({ParamId::kBlockUnits, chunk_rows(c, sets, s.rows, bands)});
}

/// Rows and columns of one tile: a few lines of every column (`tile_column_bytes`; of bytes one or two) and a piece of
/// every row, a longer one where few shuffles follow, evenly cut; and the band it walks across. A band is wide for the
/// source, whose rows should be read on and on, and narrow for the destination, each of whose columns is a page of its
/// own: about a thousand of them stay in the TLB. Where columns start inside lines, what each carries from tile to tile
/// should stay in the first cache, too; where a cast narrows, reading counts for more. Measured on a Xeon with 4 KiB
/// pages; see bench/results.
void tile_shape(const Canonical& c, const TileSets& sets, const CpuMachine& m, Candidate* k) {
  const std::int64_t unit = c.dst_unit;
  const std::int64_t read_bytes =
      c.src_unit > c.dst_unit || unit == 16 ? kSizes.tile_long_read_bytes : m.tile_read_bytes;
  std::int64_t cols = std::max(std::min(read_bytes / c.src_unit, kSizes.tile_row_bytes / unit), kSizes.tile_least_cols);
  if (sets.cols.points > cols) {
    const std::int64_t blocks = ceil_div(sets.cols.points, cols);
    const std::int64_t step = std::max<std::int64_t>(kLineBytes / unit, 1);
    cols = ceil_div(ceil_div(sets.cols.points, blocks), step) * step;
  } else {
    cols = sets.cols.points;
  }
  const std::int64_t byte_rows = c.cast ? kSizes.tile_cast_rows : m.tile_byte_rows;
  std::int64_t rows = std::max(unit == 1 ? byte_rows : m.tile_column_bytes / unit, m.tile_least_rows);
  rows = std::min({rows, sets.rows.points, kMaxColumnBytes / unit});
  std::int64_t widest = std::min(m.tile_band_columns * std::max(1, c.src_unit / c.dst_unit), kMaxBandCols);
  const std::int64_t band_bytes = columns_on_lines(c) ? kSizes.tile_band_on_lines_bytes : kSizes.tile_band_bytes;
  if (unit >= 4) widest = std::min(widest, band_bytes / unit);
  push_shape(c, sets, {rows, cols, widest}, k);
}

/// The cost of a tile beyond its lines' way through memory, in ns: every staged row, every column of a tile and every
/// task cost their start; less where all of them are whole lines, on some machines.
double tile_starts_ns(const Canonical& c, const TileSets& sets, const CpuMachine& m, const Candidate& k) {
  const auto units = static_cast<double>(c.units);
  const double staged = units / static_cast<double>(std::min(sets.cols.points, k.get(ParamId::kTileCols)));
  const double columns = units / static_cast<double>(std::min(sets.rows.points, k.get(ParamId::kTileRows)));
  const double tasks =
      units / static_cast<double>(sets.rows.points * std::min(sets.cols.points, k.get(ParamId::kBandCols)));
  const bool cheap = all_on_lines(c, sets) && sets.rows.points * c.dst_unit >= m.tile_on_lines_column_bytes;
  return (cheap ? m.tile_on_lines_start : 1) *
         (m.tile_row_ns * staged + m.tile_column_ns * columns + m.tile_task_ns * tasks);
}

/// A column that ends inside a line, with no row of its own to go on, writes two lines in part.
double ragged_ns(const Canonical& c, const TileSets& sets, const CpuMachine& m) {
  if (sets.rows.points * c.dst_unit % m.line_bytes == 0) return 0;
  return static_cast<double>(c.units) / static_cast<double>(sets.rows.points) * m.tile_ragged_column_ns;
}

/// The time of tiles in the caches.
double cached_tiles_ns(const Canonical& c, const TileSets& sets, const CpuMachine& m, const Candidate& k) {
  constexpr TileCachedCosts kCost;
  const auto units = static_cast<double>(c.units);
  const std::int64_t cols = std::min(sets.cols.points, k.get(ParamId::kTileCols));
  const std::int64_t rows = std::min(sets.rows.points, k.get(ParamId::kTileRows));
  const bool ragged = sets.rows.points * c.dst_unit % m.line_bytes != 0;
  return kCost.line_ns * static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes) +
         kCost.row_ns * units / static_cast<double>(cols) +
         (kCost.column_ns + kCost.column_byte * c.dst_unit) * units / static_cast<double>(rows) +
         (ragged ? kCost.ragged_column_ns * units / static_cast<double>(sets.rows.points) : 0) +
         units * cast_ns(c, m, cols);
}

/// A tile of records: whole lines of a column, and pieces of rows that are a few records at least. Longer runs of
/// src are read faster, as long as they fit the first cache beside the prefetched lines.
void record_tile_shape(const Canonical& c, const TileSets& sets, const CpuMachine& m, bool by_lines, bool merged,
                       Candidate* k) {
  const std::int64_t record = c.dst_unit;
  std::int64_t rows = kLineBytes / std::gcd(record, kLineBytes);
  const auto least = [&] {
    if (by_lines) return kSizes.record_line_column_bytes;
    if (merged) return m.tile_merged_column_bytes;
    return rows < kLineBytes ? kSizes.record_column_bytes : kSizes.record_least_column_bytes;
  };
  while (rows * record < least()) rows *= 2;
  rows = std::min(rows, sets.rows.points);
  const std::int64_t step = merged ? merged_shape(record).cols() : kSizes.record_cols;
  // Of records that are merged whole blocks of kMaxRecordBlockCols fit a tile's row, too: see prepare.
  const std::int64_t most =
      std::max(kSizes.record_row_bytes / c.src_unit / kMaxRecordBlockCols * kMaxRecordBlockCols / step * step, step);
  const std::int64_t pieces = ceil_div(sets.cols.points, most);
  const std::int64_t even = ceil_div(ceil_div(sets.cols.points, pieces), step) * step;
  const std::int64_t cols = std::min(sets.cols.points, merged ? most : even);
  push_shape(c, sets, {rows, cols, (merged ? kSizes.record_merged_band_bytes : kSizes.record_band_bytes) / c.src_unit},
             k);
}

Sink sink_of(const Canonical& c, const TileSets& sets, const CpuMachine& m) {
  if (!streams(c, m, Writes::kColumns)) return Sink::kCaches;
  // Permutes join the ends of columns by whole lanes; elements off their own alignment are too few for code of their
  // own.
  if (m.permutes(c.dst_unit) && !columns_start_at(c, sets, std::min(c.dst_unit, 8))) return Sink::kCaches;
  return columns_start_at(c, sets, m.line_bytes) ? Sink::kLines : Sink::kCarried;
}

/// Rows are read in place where they are prefetched near, or units are large enough, if that is fast: where they
/// spread over the first cache by themselves, and where blocks read whole lines of them.
Source source_of(const Canonical& c, const CpuMachine& m, Sink sink, bool spread) {
  if (c.cast || sink == Sink::kCaches) return Source::kStaged;
  // AVX-512 without byte permutes exists only on Intel; rows are staged there. Without any permutes of two vectors,
  // rows of 16-byte units gain nothing in place.
  if (m.permutes(2) ? !m.permutes(1) : c.dst_unit == 16) return Source::kStaged;
  if (!reads_near(c, m, Writes::kColumns))
    return c.dst_unit >= m.tile_least_in_place_bytes && (c.dst_unit >= 4 || spread) ? Source::kInPlace
                                                                                    : Source::kStaged;
  const bool whole_lines = sink == Sink::kCarried && c.dst_unit >= 4;
  return whole_lines || spread ? Source::kInPlace : Source::kStaged;
}

/// True where columns lie about an even number of lines apart: see late_lines-inl.h. Blocks of wider units or of
/// narrower vectors write a few lines of a column before the next column's.
bool is_late(const Canonical& c, const TileSets& sets, const CpuMachine& m, Sink sink, std::int64_t tile_rows) {
  constexpr std::uint64_t kTwoLines = 2 * kLineBytes;
  constexpr auto kNear = static_cast<std::uint64_t>(kSizes.tile_late_bytes);
  if (sink == Sink::kCaches || c.dst_unit > 2 || !m.permutes(2)) return false;
  if (!m.tile_late && static_cast<std::uint64_t>(tile_rows * c.dst_unit) >= kTwoLines) return false;
  const auto apart = static_cast<std::uint64_t>(c.modes[sets.cols.modes[0]].dst_stride) % kTwoLines;
  return apart < kNear || apart > kTwoLines - kNear;
}

/// True where a tile's rows are prefetched side by side, a line of several rows at a time. Measured on Zen 5: rows that
/// follow each other in memory, or lie so far apart that each needs a page of page tables of its own, are faster one by
/// one; rows at distances in between are up to a fifth faster side by side.
bool is_side_by_side(const Canonical& c, const TileSets& sets, std::int64_t tile_rows, std::int64_t tile_cols) {
  const std::int64_t row_bytes = std::min(tile_cols, sets.cols.points) * c.src_unit;
  if (std::min(tile_rows, sets.rows.points) < kSideBySide || row_bytes < kSideBySideBytes) return false;
  const std::uint64_t pitch = magnitude(c.modes[0].src_stride);
  return pitch >= 2 * static_cast<std::uint64_t>(row_bytes) &&
         pitch < static_cast<std::uint64_t>(kSizes.tile_far_bytes);
}

/// How the rows of the next tile are prefetched. Where rows share sets of the first cache, odd ones are prefetched a
/// tile further ahead, so that half as many lie in the same sets at a time: a tenth faster on Zen 5 at pitches of whole
/// pages, and as much slower where rows spread over the sets anyway.
void push_prefetch(const Canonical& c, const TileSets& sets, const CpuMachine& m, bool near, bool spread, Bid* k) {
  const std::int64_t rows = k->get(ParamId::kTileRows);
  const bool in_place = k->get(ParamId::kSource) == static_cast<std::int64_t>(Source::kInPlace);
  constexpr auto kFarBytes = static_cast<std::uint64_t>(kSizes.tile_far_in_turn_bytes);
  // Staged rows were measured so where there are permutes of bytes.
  const bool in_turn =
      in_place || (m.tile_side_by_side && m.permutes(1) && magnitude(c.modes[0].src_stride) < kFarBytes);
  const bool side_by_side =
      near ? is_side_by_side(c, sets, rows, k->get(ParamId::kTileCols)) : k->get(ParamId::kStream) != 0 && in_turn;
  k->params.push_back({ParamId::kSideBySide, side_by_side ? 1 : 0});
  k->params.push_back({ParamId::kOddAhead, near && !spread ? 1 : 0});
}

/// True of records of three parts, such as pixels of three channels, whose lines are made in registers (triples-inl.h).
bool has_three_parts(const Canonical& r, const CpuMachine& m) {
  const std::int64_t record = r.dst_unit;
  if (record == 3) return r.src_unit <= 4 && m.permutes(1);
  if (record == 6) return r.src_unit <= 8 && m.permutes(2);
  return (record == 12 || record == 24 || record == 48) && m.permutes(2);
}

/// Rows of records that are merged are read in place even if few sets of the first cache hold them. (Zen 4, one thread:
/// rows in 2 sets, 13 and 17 bytes 0.54 of a copy in place, 0.50 staged; in 4, 7 and 9 bytes 0.53 and 0.54, staged 0.48
/// and 0.47; in one, 5 bytes 0.33 and 0.47, 12 bytes 0.48 and 0.54.)
bool merged_in_place(const Canonical& r, const TileSets& sets, std::int64_t tile_rows) {
  const std::int64_t places = merged_shape(r.dst_unit).read_bytes() == kLineBytes ? 2 : 4;
  return rows_spread(r, sets, tile_rows, std::max(kSizes.some_lines_meet_from, tile_rows / places));
}

/// True of records that permutes merge (merged-inl.h). Measured on Zen 4 and a Xeon: past the caches, where rows are
/// read in place or all columns start as far into their lines. Three parts are faster by Triples, but for parts of 4
/// bytes whose columns start so.
bool merges(const Canonical& r, const TileSets& sets, const CpuMachine& m) {
  const std::int64_t record = r.dst_unit;
  if (!m.permutes(1) || m.tile_least_in_place_bytes >= record || !can_merge(record, r.src_unit)) return false;
  const bool alike = columns_start_at(r, sets, m.line_bytes);
  if (has_three_parts(r, m)) return record == 12 && alike;
  return alike || merged_in_place(r, sets, kMaxTileRows);
}

void bid_records(const Canonical& c, const Canonical& r, const TileSets& sets, const CpuMachine& m, Bid* k) {
  k->applies = true;
  k->reason = {};
  k->params.push_back({ParamId::kRecordBytes, r.dst_unit});
  const bool triples = has_three_parts(r, m), near = reads_near(c, m, Writes::kColumns);
  // Records that are lines of dst leave as they are read.
  const bool lines_of_dst = r.dst_unit == kLineBytes && sink_of(r, sets, m) == Sink::kLines;
  const bool by_lines = lines_of_dst && !near && r.dst_unit >= m.tile_least_in_place_bytes;
  const bool streamed = streams(c, m, Writes::kColumns);
  const bool merged = !near && streamed && merges(r, sets, m);
  record_tile_shape(r, sets, m, by_lines, merged, k);
  push_stream_and_near(k, c, m, Writes::kColumns);
  const std::int64_t tile_rows = k->get(ParamId::kTileRows);
  const bool spread = (near || (triples && !streamed)) && rows_spread(r, sets, tile_rows);
  const bool in_place =
      by_lines || (spread && (triples || lines_of_dst)) || (merged && merged_in_place(r, sets, tile_rows));
  const RecordWay way = merged ? RecordWay::kMerged : triples ? RecordWay::kTriples : RecordWay::kBuffered;
  k->params.push_back({ParamId::kRecordWay, static_cast<std::int64_t>(way)});
  k->params.push_back({ParamId::kSource, static_cast<std::int64_t>(in_place ? Source::kInPlace : Source::kStaged)});
  push_prefetch(r, sets, m, near, spread, k);
  k->read_lines =
      lines_for_runs(saturated_mul(r.units, r.src_unit), saturated_mul(sets.cols.points, r.src_unit), m.line_bytes);
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  const double widened = std::bit_ceil(static_cast<std::uint32_t>(r.src_unit));
  const double shuffled = lines * m.shuffle_line_ns * (widened <= 16 ? widened / r.dst_unit : 1);
  const double stream = stream_ns(*k, m);
  set_time(k, stream, ragged_ns(r, sets, m) + tile_starts_ns(r, sets, m, *k),
           std::max(shuffled - stream, 0.0) + m.tile_record_line_ns * lines);
}

void bid_units(const Canonical& c, const TileSets& sets, const CpuMachine& m, Bid* k) {
  k->applies = true;
  tile_shape(c, sets, m, k);
  push_stream_and_near(k, c, m, Writes::kColumns);
  const Sink sink = sink_of(c, sets, m);
  const bool near = reads_near(c, m, Writes::kColumns);
  const bool spread =
      (near || c.dst_unit >= m.tile_least_in_place_bytes) && rows_spread(c, sets, k->get(ParamId::kTileRows));
  k->params.push_back({ParamId::kSink, static_cast<std::int64_t>(sink)});
  k->params.push_back({ParamId::kSource, static_cast<std::int64_t>(source_of(c, m, sink, spread))});
  k->params.push_back({ParamId::kLate, is_late(c, sets, m, sink, k->get(ParamId::kTileRows)) ? 1 : 0});
  push_prefetch(c, sets, m, near, spread, k);
  if (stays_in_caches(c, m)) return set_time(k, 0, 0, cached_tiles_ns(c, sets, m, *k));
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  const auto padded = [](double n, double step) { return std::ceil(n / step) * step / n; };
  const auto blocks_of = [&](std::int64_t bytes) { return std::max(1.0, static_cast<double>(bytes) / c.dst_unit); };
  const double waste = padded(static_cast<double>(sets.rows.points), blocks_of(kLineBytes)) *
                       padded(static_cast<double>(sets.cols.points), blocks_of(kLeastVectorBytes));
  const double stream = stream_ns(*k, m) * (c.dst_unit >= 8 && !columns_on_lines(c) ? m.tile_wide_off_lines : 1);
  set_time(k, stream, ragged_ns(c, sets, m) + tile_starts_ns(c, sets, m, *k),
           std::max(lines * waste * m.shuffle_line_ns - stream, 0.0) + m.tile_line_ns * lines +
               static_cast<double>(c.units) * cast_ns(c, m, std::min(sets.cols.points, k->get(ParamId::kTileCols))));
}

/// True where dst's rows are lines of one unit each: they are filled, and nothing is transposed.
bool repeats_along_rows(const Canonical& c, const CpuMachine& m) {
  return !c.two_sided && c.modes[0].dst_stride == c.dst_unit && c.modes[0].src_stride == 0 &&
         c.modes[0].extent * c.dst_unit >= kSizes.rows_whole_lines * m.line_bytes;
}

}  // namespace

void bid_tile(const Question& q, Bid* bids) {
  const Canonical& c = q.c;
  const CpuMachine& m = q.machine;
  Bid& units = bids[0];
  Bid& of_records = bids[1];
  Bid& matrices = bids[2];
  TileSets sets;
  if (!tile_sets(c, kTileRowBytes, kTileColBytes, &sets)) {
    units.reason = matrices.reason = of_records.reason =
        c.two_sided ? "the shapes have no common refinement"
                    : "the sides share their fast mode, or one has no dense mode";
    Records records;
    if (!tile_records(c, &records) || !tile_sets(records.copy, kTileRowBytes, kTileColBytes, &sets)) return;
    const bool plain = plain_record_matrices(records, sets);
    // Fewer rows than the largest block has were measured with permutes of bytes alone.
    const bool measured = m.permutes(1) || sets.rows.points >= least_record_rows(1);
    const bool small = plain && measured && !streams(c, m, Writes::kMatrices);
    if (small && !m.has_permutes() && !q.wants("tile/records"))
      of_records.reason = "matrices of records that stay in the caches need no staging";
    else
      bid_records(c, records.copy, sets, m, &of_records);
    if (small || (plain && (leave_in_turn(records.copy, sets, m) || q.wants("tile/matrices"))))
      bid_record_matrices(records.copy, sets, m, small, &matrices);
    else if (!plain)
      matrices.reason =
          "records of over 16 bytes, fewer than 16 rows (8 of over 4 bytes, 4 of over 8) or 4 columns, or several "
          "modes";
    else
      matrices.reason = streams(c, m, Writes::kMatrices) ? "records leave the caches"
                                                         : "records of fewer than 16 rows were not measured here";
    return;
  }
  of_records.reason = "units are transposed as they are";
  const bool plain = plain_matrices(c, sets);
  const bool small = plain && !streams(c, m, Writes::kMatrices);
  const std::int64_t in_a_set = small ? columns_in_a_cache_set(c, sets) : 0;
  if (small && !rows_meet(c, sets) && !columns_meet(in_a_set) && !q.wants("tile/units"))
    units.reason = "matrices that stay in the caches need no staging";
  else if (repeats_along_rows(c, m) && !q.wants("tile/units"))
    units.reason = "src repeats a unit along rows of dst, which rows/units fills";
  else
    bid_units(c, sets, m, &units);
  const bool in_turn = plain && m.tile_matrix_lines > 0 && one_behind_the_other(c, sets);
  if (const TileSets alone = matrix_sets(c, sets);
      !plain && plain_matrices(c, alone) && (stays_in_caches(c, m) || q.wants("tile/matrices")))
    bid_parted_matrices(c, alone, m, &matrices);
  else if (small || in_turn || (plain && (may_stream_matrices(c, sets, m) || q.wants("tile/matrices"))))
    bid_matrices(c, sets, m, in_turn, in_a_set, &matrices);
  else
    matrices.reason =
        plain ? "the copy leaves the caches, and matrices have gaps, change places or were not measured here"
              : "rows or columns below 16 bytes, converted, or of several modes past the caches or without permutes";
}

}  // namespace restride::cpu
