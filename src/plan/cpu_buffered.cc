// The family buffered: the modes of its block, and its bid.
#include "src/plan/cpu_buffered.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/plan/cpu_bids.h"

namespace restride::plan {

using layout::Canonical;

namespace {

/// The block with these columns, or false where there is none.
bool block_around(const layout::Canonical& c, std::size_t dense_modes, std::int64_t max_bytes, BufferedSets* s) {
  s->last = *std::max_element(s->cols.modes.begin(), s->cols.modes.end());
  const std::size_t first = *std::min_element(s->cols.modes.begin(), s->cols.modes.end());
  if (s->last >= dense_modes || first == 0) return false;
  s->rows = s->others = {};
  std::int64_t bytes = c.dst_unit;  // of one point of the last mode
  for (std::size_t m = 0; m < s->last; ++m) {
    if (c.modes[m].extent > max_bytes / bytes) return false;
    bytes *= c.modes[m].extent;
    if (s->cols.has(m)) continue;
    ModeSet& set = m < first ? s->rows : s->others;
    set.modes.push_back(static_cast<std::uint8_t>(m));
    set.points *= c.modes[m].extent;
  }
  const std::int64_t extent = c.modes[s->last].extent;
  const std::int64_t most = std::min(max_bytes / bytes, extent);
  if (most < extent && s->cols.modes.back() != s->last) return false;  // a part of it would not be dense in src
  const std::int64_t parts = ceil_div(extent, most);
  s->points = ceil_div(extent, parts);
  s->units = bytes / c.dst_unit * s->points;
  return true;
}

}  // namespace

bool buffered_sets(const layout::Canonical& c, std::int64_t max_bytes, BufferedSets* out) {
  constexpr std::int64_t kEnoughBytes = 96;
  if (c.two_sided || c.modes.size() < 2) return false;
  std::size_t dense_modes = 0;
  for (std::int64_t bytes = c.dst_unit; dense_modes < c.modes.size() && c.modes[dense_modes].dst_stride == bytes;
       ++dense_modes)
    bytes *= c.modes[dense_modes].extent;
  BufferedSets s;
  bool found = false;
  for (bool grew = true; grew && s.cols.points * c.src_unit < kEnoughBytes;) {
    grew = false;
    for (std::size_t m = 1; m < dense_modes && !grew; ++m) {
      if (c.modes[m].src_stride != s.cols.points * c.src_unit || s.cols.has(m)) continue;
      s.cols.modes.push_back(static_cast<std::uint8_t>(m));
      s.cols.points *= c.modes[m].extent;
      BufferedSets with = s;
      grew = block_around(c, dense_modes, max_bytes, &with);
      if (grew) *out = with;
      found |= grew;
    }
  }
  return found;
}

Candidate bid_buffered(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kBuffered, c, m);
  BufferedSets sets;
  if (!buffered_sets(c, kBufferedBytes, &sets)) {
    k.reason = "no dense piece of dst that fits the cache has the source's fast mode";
    return k;
  }
  k.applies = true;
  k.params.push_back({ParamId::kBlockUnits, sets.units});
  k.params.push_back({ParamId::kStream, c.dst_bytes() >= m.stream_from_bytes ? 1 : 0});
  k.predicted.read_sectors = lines_for_runs(c.src_bytes(), sets.cols.points * c.src_unit, m.line_bytes);
  // A matrix that is dense in src is read straight on, the rows of others from as many pages.
  const std::int64_t cols = sets.cols.points / c.modes[sets.last].extent * sets.points;
  const std::int64_t matrix_units = sets.rows.points * sets.cols.points * sets.others.points;
  std::int64_t src_span = c.src_unit;
  for (std::size_t i = 0; i <= sets.last; ++i)
    src_span += static_cast<std::int64_t>(magnitude(c.modes[i].src_stride)) * (c.modes[i].extent - 1);
  const bool dense = src_span == matrix_units * c.src_unit && src_span <= 64 << 10;
  const double reading = !dense ? 1.45 : sets.units < matrix_units ? 1.2 : 1.0;
  const std::int64_t vector_units = 16 / c.dst_unit;
  const auto padded = [&](std::int64_t n) {
    return static_cast<double>(ceil_div(n, vector_units) * vector_units) / static_cast<double>(n);
  };
  const double units = static_cast<double>(c.units);
  const double lines = units * c.dst_unit / static_cast<double>(m.line_bytes);
  const double waste = padded(sets.rows.points) * padded(cols);
  // Short columns cost their start, and more where their rows have to be brought together.
  const double column_ns = c.modes[0].extent * c.dst_unit >= 32 ? 1.5 : 6;
  k.predicted.time_ns =
      stream_ns(k, m) * reading + lines * waste * 0.1 * m.shuffle_line_ns + 2 * units / static_cast<double>(cols) +
      column_ns * units / static_cast<double>(sets.rows.points) + 20 * units / static_cast<double>(sets.units) + 40;
  if (std::min(cols, sets.rows.points) < vector_units) k.predicted.time_ns += 2 * units * m.unit_ns;  // by units
  return k;
}

}  // namespace restride::plan
