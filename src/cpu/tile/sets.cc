#include "src/cpu/tile/sets.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/costs.h"
#include "src/cpu/tile/matrices.h"

namespace restride::cpu {

bool tile_sets(const layout::Canonical& c, std::int64_t row_bytes, std::int64_t col_bytes, TileSets* out) {
  if (c.two_sided || c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return false;
  std::size_t fast = 0;
  for (std::size_t i = 1; i < c.modes.size() && fast == 0; ++i)
    if (c.modes[i].src_stride == c.src_unit || c.modes[i].src_stride == -c.src_unit) fast = i;
  if (fast == 0) return false;
  out->cols_backwards = c.modes[fast].src_stride < 0;
  out->cols.modes.push_back(static_cast<std::uint8_t>(fast));
  out->cols.points = c.modes[fast].extent;
  // Rows that end inside a line need the next mode of dst more than columns that are long enough without it.
  const std::int64_t first_row_bytes = c.modes[0].extent * c.dst_unit;
  const bool ragged = first_row_bytes % kLineBytes != 0 && c.modes[1].dst_stride == first_row_bytes;
  for (bool grew = !out->cols_backwards; grew && out->cols.points * c.src_unit < col_bytes;) {
    grew = false;
    for (std::size_t i = 1; i < c.modes.size() && !grew; ++i)
      if (c.modes[i].src_stride == out->cols.points * c.src_unit && !out->cols.has(i) &&
          !(i == 1 && ragged && out->cols.points * c.src_unit >= kSizes.tile_enough_col_bytes)) {
        out->cols.modes.push_back(static_cast<std::uint8_t>(i));
        out->cols.points *= c.modes[i].extent;
        grew = true;
      }
  }
  out->rows.modes.push_back(0);
  out->rows.points = c.modes[0].extent;
  for (std::size_t i = 1; i < c.modes.size(); ++i) {
    const std::int64_t bytes = out->rows.points * c.dst_unit;
    const bool enough = bytes % kLineBytes == 0 ? bytes >= kSizes.tile_enough_row_bytes : bytes >= row_bytes;
    if (enough || out->cols.has(i) || c.modes[i].dst_stride != bytes) break;
    out->rows.modes.push_back(static_cast<std::uint8_t>(i));
    out->rows.points *= c.modes[i].extent;
  }
  return true;
}

bool columns_start_at(const layout::Canonical& c, const TileSets& sets, std::int64_t bytes) {
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (!sets.rows.has(m) && c.modes[m].dst_stride % bytes != 0) return false;
  return true;
}

bool columns_on_lines(const layout::Canonical& c) {
  return std::all_of(c.modes.begin(), c.modes.end(), [&](const layout::CopyMode& m) {
    return static_cast<std::int64_t>(magnitude(m.dst_stride)) == c.dst_unit || m.dst_stride % kLineBytes == 0;
  });
}

bool all_on_lines(const layout::Canonical& c, const TileSets& sets) {
  return columns_on_lines(c) && sets.rows.points * c.dst_unit % kLineBytes == 0 &&
         sets.cols.points * c.src_unit % kLineBytes == 0;
}

bool rows_spread(const layout::Canonical& c, const TileSets& sets, std::int64_t tile_rows, std::int64_t most) {
  return most_in_a_cache_set(c, sets.rows, Side::kSrc, tile_rows) <= most;
}

TileSets matrix_sets(const layout::Canonical& c, const TileSets& sets) {
  const auto first = [&](const ModeSet& set) {
    ModeSet one;
    one.modes.push_back(set.modes[0]);
    one.points = c.modes[set.modes[0]].extent;
    return one;
  };
  return {first(sets.rows), first(sets.cols), sets.cols_backwards};
}

bool plain_matrices(const layout::Canonical& c, const TileSets& sets) {
  return !c.cast && sets.rows.modes.size() == 1 && sets.cols.modes.size() == 1 &&
         sets.rows.points * c.dst_unit >= kLeastVectorBytes && sets.cols.points * c.dst_unit >= kLeastVectorBytes;
}

bool streamed_matrices(const layout::Canonical& c, const TileSets& sets) {
  const std::int64_t column = sets.rows.points * c.dst_unit;
  return plain_matrices(c, sets) && !sets.cols_backwards && column >= kLineBytes && column <= kLongBandBytes &&
         fits_a_band(column, c.dst_unit) && sets.cols.points * column <= kSizes.matrix_most_streamed_bytes &&
         c.modes[0].src_stride == sets.cols.points * c.src_unit && c.modes[sets.cols.modes[0]].dst_stride == column;
}

bool plain_record_matrices(const Records& r, const TileSets& sets) {
  return sets.rows.modes.size() == 1 && sets.cols.modes.size() == 1 &&
         sets.rows.points >= least_record_rows(std::max(r.copy.dst_unit, r.copy.src_unit)) &&
         sets.cols.points >= kLeastRecordCols && r.copy.dst_unit <= kMostMatrixRecordBytes &&
         (!r.reversed || r.copy.src_unit <= 8);
}

}  // namespace restride::cpu
