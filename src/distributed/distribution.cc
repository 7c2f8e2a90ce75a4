// Distributions: errors in one, and the part of it that a rank has.
#include <restride/distributed.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/distributed/regions.h"

namespace restride::distributed {

std::string listed(const std::vector<std::int64_t>& values) { return fmt::format("({})", fmt::join(values, ",")); }
std::string listed(const std::vector<int>& values) { return fmt::format("({})", fmt::join(values, ",")); }

namespace {

void require_shape(const Distribution& d) {
  if (d.shape.size() > kMaxRank)
    throw ArgumentError(fmt::format("a distribution over {} axes; {} is the limit, so merge axes that are not split",
                                    d.shape.size(), kMaxRank));
  std::int64_t elements = 1;
  bool empty = false, fits = true;
  for (std::size_t a = 0; a < d.shape.size(); ++a) {
    if (d.shape[a] < 0) throw ArgumentError(fmt::format("axis {} has extent {}; extents are 0 or more", a, d.shape[a]));
    empty |= d.shape[a] == 0;
    fits = fits && checked_mul(elements, std::max<std::int64_t>(d.shape[a], 1), &elements) && elements <= kMaxBytes;
    if (d.shape[a] > kMaxBytes) fits = empty = false;
  }
  if (!fits && !empty)
    throw RangeError(fmt::format("the shape {} has more than 2^60 elements; use smaller extents", listed(d.shape)));
}

void require_order(const Distribution& d) {
  if (d.order.empty()) return;
  std::vector<int> sorted = d.order;
  std::sort(sorted.begin(), sorted.end());
  bool all = sorted.size() == d.shape.size();
  for (std::size_t a = 0; all && a < sorted.size(); ++a) all = sorted[a] == static_cast<int>(a);
  if (!all)
    throw ArgumentError(fmt::format("order {} is no order of {} axes; name each of 0 to {} once", listed(d.order),
                                    d.shape.size(), static_cast<int>(d.shape.size()) - 1));
}

void require_grid(const Grid& g) {
  std::int64_t places = 1;
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.sizes[i] < 1)
      throw ArgumentError(fmt::format("grid axis {} has size {}; sizes are 1 or more", i, g.sizes[i]));
    if (g.sizes[i] > kMaxRanks || (places *= g.sizes[i]) > kMaxRanks)
      throw RangeError(fmt::format("the grid {} has more than 2^20 ranks; use a smaller one", listed(g.sizes)));
  }
  if (!g.ranks.empty()) {
    if (static_cast<std::int64_t>(g.ranks.size()) != places)
      throw ShapeError(fmt::format("the grid {} has {} places, but {} ranks are listed; list one a place",
                                   listed(g.sizes), places, g.ranks.size()));
    std::vector<int> sorted = g.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.front() < 0 || sorted.back() >= kMaxRanks)
      throw ArgumentError(fmt::format("rank {} is listed; ranks run from 0 to 2^20-1",
                                      sorted.front() < 0 ? sorted.front() : sorted.back()));
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw ArgumentError(
          fmt::format("rank {} is listed twice; give each place of the grid a rank of its own", *twice));
    return;
  }
  if (!g.strides.empty() && g.strides.size() != g.sizes.size())
    throw ShapeError(fmt::format("the grid {} has {} axes but {} strides; give one stride a grid axis", listed(g.sizes),
                                 g.sizes.size(), g.strides.size()));
  if (g.first < 0 || g.first >= kMaxRanks)
    throw ArgumentError(fmt::format("the first rank is {}; ranks run from 0 to 2^20-1", g.first));
  std::vector<std::int64_t> ranks{g.first};
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    // Where no strides are given they are C order's, and only the largest rank matters.
    std::int64_t stride = 1;
    if (g.strides.empty())
      for (std::size_t j = i + 1; j < g.sizes.size(); ++j) stride *= g.sizes[j];
    else
      stride = g.strides[i];
    if (stride > kMaxRanks || stride < -kMaxRanks)
      throw RangeError(fmt::format("grid axis {} has stride {}; ranks run from 0 to 2^20-1", i, stride));
    const std::size_t before = ranks.size();
    for (std::int64_t c = 1; c < g.sizes[i]; ++c)
      for (std::size_t k = 0; k < before; ++k) ranks.push_back(ranks[k] + c * stride);
  }
  std::sort(ranks.begin(), ranks.end());
  if (ranks.front() < 0 || ranks.back() >= kMaxRanks)
    throw ArgumentError(
        fmt::format("the grid {} reaches rank {}; ranks run from 0 to 2^20-1, so change its strides or "
                    "first rank",
                    listed(g.sizes), ranks.front() < 0 ? ranks.front() : ranks.back()));
  if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end())
    throw ArgumentError(
        fmt::format("the grid {} with strides {} has rank {} in two places; use strides that keep them "
                    "apart",
                    listed(g.sizes), listed(g.strides), *twice));
}

void require_splits(const Distribution& d) {
  if (d.axes.size() != d.shape.size())
    throw ShapeError(fmt::format("the shape {} has {} axes, but {} are distributed; give each axis its splits or '*'",
                                 listed(d.shape), d.shape.size(), d.axes.size()));
  std::vector<int> user(d.grid.sizes.size(), -1);
  for (std::size_t a = 0; a < d.axes.size(); ++a) {
    for (std::size_t i = 0; i < d.axes[a].size(); ++i) {
      const Split& s = d.axes[a][i];
      if (s.kind == SplitKind::kCyclic) {
        if (i + 1 != d.axes[a].size())
          throw ArgumentError(
              fmt::format("axis {} is split further behind a cyclic split; put the cyclic one last", a));
        if (s.block < 1)
          throw ArgumentError(fmt::format("axis {} has cyclic blocks of {}; blocks are 1 or more", a, s.block));
      }
      std::int64_t parts = 1;
      for (int g : s.grid_axes) {
        if (g < 0 || g >= static_cast<int>(user.size()))
          throw ArgumentError(
              fmt::format("axis {} is split over grid axis {}, but the grid {} has {}; use one of 0 to "
                          "{}, or a grid with more axes",
                          a, g, listed(d.grid.sizes), user.size(), static_cast<int>(user.size()) - 1));
        int& by = user[static_cast<std::size_t>(g)];
        if (by >= 0)
          throw ArgumentError(
              fmt::format("grid axis {} splits axis {} and axis {}; split each axis over grid axes of "
                          "its own",
                          g, by, a));
        by = static_cast<int>(a);
        parts *= d.grid.sizes[static_cast<std::size_t>(g)];
      }
      if (s.first < 0 || s.first >= parts)
        throw ArgumentError(fmt::format("axis {} gives its first block to part {} of {}; use one of 0 to {}", a,
                                        s.first, parts, parts - 1));
    }
  }
}

void require_boxes(const Distribution& d) {
  for (std::size_t i = 0; i < d.boxes.size(); ++i) {
    const Box& b = d.boxes[i];
    if (b.rank < 0 || b.rank >= kMaxRanks)
      throw ArgumentError(fmt::format("box {} is of rank {}; ranks run from 0 to 2^20-1", i, b.rank));
    if (b.lo.size() != d.shape.size() || b.hi.size() != d.shape.size())
      throw ShapeError(fmt::format("box {} of rank {} has {} axes, but the shape {} has {}; give bounds for each axis",
                                   i, b.rank, b.lo.size(), listed(d.shape), d.shape.size()));
    for (std::size_t a = 0; a < b.lo.size(); ++a)
      if (b.lo[a] < 0 || b.hi[a] < b.lo[a] || b.hi[a] > d.shape[a])
        throw ShapeError(
            fmt::format("box {} of rank {} has [{},{}) on axis {}, which has the indices 0 to {}; keep "
                        "0 <= lo <= hi <= {}",
                        i, b.rank, b.lo[a], b.hi[a], a, d.shape[a] - 1, d.shape[a]));
  }
}

const Region& region_at(const std::vector<Region>& all, const Distribution& d, int rank, int region) {
  if (region < 0 || region >= static_cast<int>(all.size()))
    throw ArgumentError(
        fmt::format("rank {} has {} regions of {}, and no region {}", rank, all.size(), to_string(d), region));
  return all[static_cast<std::size_t>(region)];
}

}  // namespace

void validate(const Distribution& d) {
  require_shape(d);
  require_order(d);
  if (d.by_boxes) return require_boxes(d);
  require_grid(d.grid);
  require_splits(d);
}

int ranks_of(const Distribution& d) {
  validate(d);
  std::int64_t last = -1;
  if (d.by_boxes) {
    for (const Box& b : d.boxes) last = std::max<std::int64_t>(last, b.rank);
  } else if (!d.grid.ranks.empty()) {
    last = *std::max_element(d.grid.ranks.begin(), d.grid.ranks.end());
  } else {
    last = d.grid.first;
    std::int64_t stride = 1;
    for (std::size_t i = d.grid.sizes.size(); i-- > 0;) {
      last += (d.grid.sizes[i] - 1) * std::max<std::int64_t>(d.grid.strides.empty() ? stride : d.grid.strides[i], 0);
      stride *= d.grid.sizes[i];
    }
  }
  return static_cast<int>(last + 1);
}

int regions_of(const Distribution& d, int rank) {
  validate(d);
  return static_cast<int>(regions(d, rank).size());
}

std::vector<std::int64_t> local_shape(const Distribution& d, int rank, int region) {
  validate(d);
  std::vector<std::int64_t> out;
  const std::vector<Region> all = regions(d, rank);
  for (const Comb& c : region_at(all, d, rank, region)) out.push_back(c.size());
  return out;
}

std::int64_t global_index(const Distribution& d, int rank, int region, int axis, std::int64_t i) {
  validate(d);
  const std::vector<Region> all = regions(d, rank);
  const Region& r = region_at(all, d, rank, region);
  if (axis < 0 || axis >= static_cast<int>(r.size()))
    throw ArgumentError(fmt::format("axis {} of a tensor of {} axes; use one of 0 to {}", axis, r.size(),
                                    static_cast<int>(r.size()) - 1));
  const Comb& c = r[static_cast<std::size_t>(axis)];
  if (i < 0 || i >= c.size())
    throw ArgumentError(
        fmt::format("rank {} has {} indices on axis {}, and no local index {}", rank, c.size(), axis, i));
  return c.global(i);
}

std::vector<Layout> local_layouts(const Distribution& d, int rank, Element element) {
  validate(d);
  std::vector<Layout> out;
  std::int64_t offset_bytes = 0;
  for (const Region& r : regions(d, rank)) {
    out.push_back(dense_layout(r, memory_order(d), element, offset_bytes));
    offset_bytes += out.back().bytes();
  }
  return out;
}

}  // namespace restride::distributed
