// Bids of tile/matrices: for matrices of units, for parts of larger ones, and for records.
#include "src/cpu/tile/matrices_bid.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/base/checked.h"
#include "src/cpu/cached_costs.h"
#include "src/cpu/records.h"
#include "src/cpu/share.h"
#include "src/cpu/tile/matrices.h"
#include "src/cpu/tile/sets.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// How much more a small matrix's blocks hold than its units: the last ones overlap those before.
double small_waste(const Canonical& c, const TileSets& sets) {
  const auto padded = [&](std::int64_t points) {
    const std::int64_t block = kLeastVectorBytes / c.dst_unit;
    return static_cast<double>(ceil_div(points, block) * block) / static_cast<double>(points);
  };
  return padded(sets.rows.points) * padded(sets.cols.points);
}

/// Instructions for a line of a block: loads of 16 bytes, shuffles and stores of vectors as long as columns allow.
double block_instructions(const Canonical& c, const TileSets& sets) {
  const std::int64_t column = std::min<std::int64_t>(sets.rows.points * c.dst_unit, kLineBytes);
  const double loads = static_cast<double>(kLineBytes) / kLeastVectorBytes;
  const double vectors = static_cast<double>(kLineBytes) / std::bit_floor(static_cast<std::uint64_t>(column));
  return loads + vectors * (1 + std::log2(static_cast<double>(kLeastVectorBytes) / c.dst_unit));
}

/// Columns of a task. Matrices are a task each; where they are few and large, each is cut into bands, so that threads
/// share even one.
std::int64_t matrix_band_cols(const Canonical& c, const TileSets& sets) {
  const std::int64_t matrices = c.units / (sets.rows.points * sets.cols.points);
  if (matrices >= kTasksToShare || c.dst_bytes() < kBytesPerThread) return sets.cols.points;
  const std::int64_t line =  // columns of src that lie in one line
      std::max<std::int64_t>(kLineBytes / c.src_unit, kLeastRecordCols);
  const std::int64_t band = ceil_div(ceil_div(kSizes.matrix_band_bytes, sets.rows.points * c.dst_unit), line) * line;
  return sets.cols.points / band < 2 ? sets.cols.points : band;
}
}  // namespace

bool one_behind_the_other(const Canonical& c, const TileSets& sets) {
  const std::int64_t bytes = sets.rows.points * sets.cols.points * c.dst_unit;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    const layout::CopyMode& mode = c.modes[i];
    if (sets.rows.has(i)   ? mode.src_stride != sets.cols.points * c.dst_unit
        : sets.cols.has(i) ? mode.dst_stride != sets.rows.points * c.dst_unit || mode.src_stride != c.src_unit
                           : mode.dst_stride != bytes || mode.src_stride != bytes)
      return false;
  }
  return true;
}

namespace {
/// True of matrices that are as fast or faster column by column, where that was measured. Columns that start on lines
/// leave as fast without a band; on some machines only if rows are whole lines, too.
bool streams_well(const Canonical& c, const TileSets& sets, const CpuMachine& m) {
  if (m.tile_streamed_widely) return !all_on_lines(c, sets);
  const std::int64_t column = sets.rows.points * c.dst_unit;
  return column >= kSizes.matrix_least_streamed_column_bytes && column <= longest_streamed_column(c.dst_unit) &&
         !columns_on_lines(c);
}
}  // namespace

bool may_stream_matrices(const Canonical& c, const TileSets& sets, const CpuMachine& m) {
  return m.tile_streamed_matrix_lines > 0 && m.has_permutes() && streams(c, m, Writes::kMatrices) &&
         streamed_matrices(c, sets) && streams_well(c, sets, m) && matrix_band_cols(c, sets) == sets.cols.points;
}

bool rows_meet(const Canonical& c, const TileSets& sets) { return !rows_spread(c, sets, kLineBytes / c.dst_unit); }

std::int64_t columns_in_a_cache_set(const Canonical& c, const TileSets& sets) {
  return most_in_a_cache_set(c, sets.cols, Side::kDst, kLineBytes);
}

bool columns_meet(std::int64_t in_a_set) { return in_a_set > kSizes.some_lines_meet_from; }

namespace {
/// True where matrices in the caches are moved band by band, a band as wide as a line of src: their lines are read once
/// each, and columns go on where they are in the first cache and its pages.
bool goes_down_columns(const Canonical& c, const TileSets& sets, const CpuMachine& m, std::int64_t in_a_set) {
  if (!m.has_permutes() || c.modes[0].extent * c.dst_unit < kLineBytes ||
      c.modes[sets.cols.modes[0]].extent * c.src_unit < 2 * kLineBytes)
    return false;
  return columns_meet(in_a_set) || (c.dst_unit <= 2 && rows_meet(c, sets));
}

/// How much longer blocks take that follow columns: each line of dst has units of more rows, the smaller they are.
double down_columns(const Canonical& c, const CpuMachine& m, std::int64_t in_a_set) {
  return in_a_set > kSizes.lines_meet_from ? 1 + m.tile_crowded_columns / c.dst_unit : m.tile_down_columns;
}

void push_matrix_shape(const Canonical& c, const TileSets& sets, bool down, Bid* k) {
  k->params.push_back({ParamId::kBandCols, down ? kLineBytes / c.dst_unit : matrix_band_cols(c, sets)});
  k->params.push_back({ParamId::kOrder, down ? 0 : 2});
}
}  // namespace

void bid_matrices(const Canonical& c, const TileSets& sets, const CpuMachine& m, bool in_turn, std::int64_t in_a_set,
                  Bid* k) {
  k->applies = true;
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  const std::int64_t units = sets.rows.points * sets.cols.points;
  const double matrices = static_cast<double>(c.units) / static_cast<double>(units);
  const double blocks = lines * small_waste(c, sets);
  const double kib = static_cast<double>(units * c.dst_unit) / 1024;
  const double stream = stream_ns(*k, m);
  const double in_caches = stream * (m.tile_matrix_lines + m.tile_matrix_kib_lines * kib);
  const double past_lines = stream * m.tile_streamed_matrix_lines;
  const double past_columns =
      static_cast<double>(c.units) / static_cast<double>(sets.rows.points) * m.tile_streamed_column_ns;
  const bool past = may_stream_matrices(c, sets, m) && (!in_turn || past_lines + past_columns < in_caches);
  const bool stays = !past && (m.tile_matrix_lines == 0 || !streams(c, m, Writes::kMatrices));
  const bool down = stays && goes_down_columns(c, sets, m, in_a_set);
  push_matrix_shape(c, sets, down, k);
  if (streamed_matrices(c, sets)) {
    k->params.push_back({ParamId::kStream, past ? 1 : 0});
    k->params.push_back({ParamId::kNear, past && m.tile_near ? 1 : 0});
  }
  if (stays) {
    const double meet = down ? down_columns(c, m, in_a_set) : rows_meet(c, sets) ? m.tile_meeting_rows : 1;
    return set_time(k, 0, matrices * m.row_ns, blocks * m.shuffle_line_ns * meet);
  }
  const double moved = blocks * block_instructions(c, sets) * m.tile_matrix_instruction_ns;
  set_time(k, past ? past_lines : in_caches, matrices * row_ns(c, m) + (past ? past_columns : 0),
           std::max(moved - stream, 0.0));
}

namespace {
/// How much longer the blocks of matrices take that are parts of larger ones: their columns and rows end inside lines
/// that the next matrix goes on with, and columns or rows that meet in a set of the first cache lose such lines before.
double parts_of_lines(const Canonical& c, const TileSets& sets, std::int64_t columns_in_a_set) {
  const double line = static_cast<double>(kLineBytes);
  const std::int64_t column = sets.rows.points * c.dst_unit, row = sets.cols.points * c.src_unit;
  const double columns = line / static_cast<double>(column), rows = line / static_cast<double>(row);  // of a line
  const std::int64_t rows_in_a_set = most_in_a_cache_set(c, sets.rows, Side::kSrc, kLineBytes / c.dst_unit);
  const double cut = (column % kLineBytes != 0 ? columns : 0) + (row % kLineBytes != 0 ? rows : 0);
  return (c.dst_unit == 1 ? kPartedMatrices.bytes : 1) + kPartedMatrices.cut * cut +
         kPartedMatrices.columns * columns * crowding(columns_in_a_set) +
         kPartedMatrices.rows * (1 + rows) * crowding(rows_in_a_set);
}
}  // namespace

void bid_parted_matrices(const Canonical& c, const TileSets& sets, const CpuMachine& m, Bid* k) {
  const std::int64_t in_a_set = columns_in_a_cache_set(c, sets);
  k->applies = true;
  const bool down = goes_down_columns(c, sets, m, in_a_set);
  const double blocks = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes) * small_waste(c, sets);
  const double matrices = static_cast<double>(c.units / (sets.rows.points * sets.cols.points));
  push_matrix_shape(c, sets, down, k);
  set_time(k, 0, matrices * m.row_ns, blocks * m.shuffle_line_ns * parts_of_lines(c, sets, in_a_set));
}

bool leave_in_turn(const Canonical& r, const TileSets& sets, const CpuMachine& m) {
  const std::int64_t column = sets.rows.points * r.dst_unit;
  return m.permutes(1) && m.tile_matrix_lines > 0 && column <= kSizes.record_matrix_column_bytes &&
         r.modes[sets.cols.modes[0]].dst_stride == column;
}

void bid_record_matrices(const Canonical& r, const TileSets& sets, const CpuMachine& m, bool stays, Bid* k) {
  k->applies = true;
  k->reason = {};
  k->params.push_back({ParamId::kBandCols, matrix_band_cols(r, sets)});
  const double matrices = static_cast<double>(r.units) / static_cast<double>(sets.rows.points * sets.cols.points);
  if (!stays) return set_time(k, stream_ns(*k, m) * kSizes.record_matrix_streams, matrices * row_ns(r, m), 0);
  const double lines = static_cast<double>(r.dst_bytes()) / static_cast<double>(m.line_bytes);
  const double widened = std::bit_ceil(static_cast<std::uint32_t>(r.src_unit));
  // Rows that do not fill blocks are moved twice.
  const std::int64_t block = least_record_rows(std::max(r.dst_unit, r.src_unit));
  const double waste =
      static_cast<double>(ceil_div(sets.rows.points, block) * block) / static_cast<double>(sets.rows.points);
  set_time(k, 0, matrices * m.row_ns, lines * waste * std::max(widened / r.dst_unit, 1.0) * m.shuffle_line_ns);
}

}  // namespace restride::cpu
