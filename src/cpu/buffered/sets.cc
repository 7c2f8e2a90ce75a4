#include "src/cpu/buffered/sets.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/costs.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// The modes that continue `set`, a run of one side, as far as they are inside whole; one in part ends it.
template <class Next>
void follow(const Canonical& c, const BufferedSets& s, const Next& next, ModeSet* set) {
  for (int m = next(c, -1); m >= 0 && set->modes.size() < static_cast<std::size_t>(kBufferedModes); m = next(c, m)) {
    const std::int64_t points = s.points[static_cast<std::size_t>(m)];
    if (points == 1) return;
    set->modes.push_back(static_cast<std::uint8_t>(m));
    set->points *= points;
    if (points < c.modes[static_cast<std::size_t>(m)].extent) return;
  }
}

/// How much more a transpose's blocks of the shortest vectors hold than the units of n rows or columns.
double padded(std::int64_t n, std::int64_t unit_bytes) {
  const std::int64_t vector = std::max<std::int64_t>(kLeastVectorBytes / unit_bytes, 1);
  return static_cast<double>(ceil_div(n, vector) * vector) / static_cast<double>(n);
}

/// The rows and columns that take the least work. What src's run has beyond the columns is walked by itself.
void choose_rows(const Canonical& c, BufferedSets* s) {
  double least = 0;
  ModeSet cols;
  for (std::uint8_t m : s->src_run.modes) {
    if (m == 0) break;
    cols.modes.push_back(m);
    cols.points *= s->points[m];
    if (cols.points > kBufferedPoints) break;
    ModeSet rows;
    for (std::uint8_t d : s->dst_run.modes) {
      if (cols.has(d) || rows.points * s->points[d] > kBufferedPoints) break;
      rows.modes.push_back(d);
      rows.points *= s->points[d];
    }
    const double ns = buffered_shuffle_ns(c, rows.points, cols.points);
    // Rows of less than a line leave the rest of it for later, when the first cache may have lost it; unless so few
    // columns fill their vectors badly.
    const bool halves = rows.points * c.dst_unit < kLineBytes && s->rows.points * c.dst_unit >= kLineBytes &&
                        padded(s->cols.points, c.dst_unit) <= kSizes.buffered_filled;
    if (s->cols.modes.empty() || (ns < least && !halves)) {
      least = ns;
      s->rows = rows;
      s->cols = cols;
    }
  }
}

}  // namespace

std::int64_t padded_column_pitch(const Canonical& c, const BufferedSets& sets) {
  const std::int64_t column = sets.rows.points * c.dst_unit;
  const std::int64_t pitch = ceil_div(column, kLineBytes) * kLineBytes;
  const bool pays = column >= kLineBytes && column < pitch && 3 * pitch <= 4 * column;
  return pays && sets.units / sets.rows.points * pitch <= kBufferedBytes ? pitch : 0;
}

double block_waste(const Canonical& c, std::int64_t rows, std::int64_t cols) {
  return padded(rows, c.dst_unit) * padded(cols, c.dst_unit);
}

double buffered_shuffle_ns(const Canonical& c, std::int64_t rows, std::int64_t cols) {
  const double block = static_cast<double>(kLineBytes) / c.dst_unit;  // rows of the largest vector
  const double waste = block_waste(c, rows, cols);
  const auto r = static_cast<double>(rows);
  const auto n = static_cast<double>(cols);
  constexpr BufferedShuffles kCost;
  return kCost.byte_ns * c.dst_unit * waste + kCost.block_ns / (std::min(r, block) * n) + kCost.matrix_ns / (r * n);
}

int next_in_dst(const Canonical& c, int m) {
  if (m < 0) return 0;
  const auto i = static_cast<std::size_t>(m);
  return i + 1 < c.modes.size() && c.modes[i + 1].dst_stride == c.modes[i].dst_stride * c.modes[i].extent ? m + 1 : -1;
}

int next_in_src(const Canonical& c, int m) {
  const layout::CopyMode* last = m < 0 ? nullptr : &c.modes[static_cast<std::size_t>(m)];
  const std::int64_t stride = last == nullptr ? c.src_unit : last->src_stride * last->extent;
  for (int i = 0; i < c.rank(); ++i)
    if (c.modes[static_cast<std::size_t>(i)].src_stride == stride) return i;
  return -1;
}

bool buffered_sets(const Canonical& c, std::int64_t dst_run_bytes, std::int64_t src_run_bytes, BufferedSets* out,
                   std::int64_t most_bytes) {
  if (c.two_sided || c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return false;
  if (next_in_src(c, -1) <= 0) return false;
  BufferedSets s;
  s.points.resize(c.modes.size(), 1);
  const std::int64_t max_units = most_bytes / std::max(c.dst_unit, c.src_unit);
  int inside = 0;
  const auto take = [&](const auto& next, std::int64_t unit, std::int64_t target) {
    std::int64_t bytes = unit;
    for (int m = next(c, -1); m >= 0 && bytes < target; m = next(c, m)) {
      const std::int64_t extent = c.modes[static_cast<std::size_t>(m)].extent;
      std::int64_t& points = s.points[static_cast<std::size_t>(m)];
      if (points == 1) ++inside;
      s.units /= points;
      points = std::max(points, chunk_of(extent, bytes, target));
      if (points > max_units / s.units) return false;
      s.units *= points;
      bytes *= points;
      if (points < extent) break;
    }
    return inside <= kBufferedModes;
  };
  if (!take(next_in_dst, c.dst_unit, dst_run_bytes) || !take(next_in_src, c.src_unit, src_run_bytes)) return false;
  follow(c, s, next_in_dst, &s.dst_run);
  follow(c, s, next_in_src, &s.src_run);
  if (s.src_run.modes.empty() || s.src_run.modes[0] == 0 || s.dst_run.modes.empty()) return false;
  choose_rows(c, &s);
  if (s.cols.modes.empty() || s.units > kBufferedPoints * std::min(s.dst_run.points, s.src_run.points) ||
      s.units > kBufferedPoints * s.rows.points * s.cols.points)
    return false;
  *out = s;
  return true;
}

}  // namespace restride::cpu
