// From distributions to combs.
#include "src/distributed/regions.h"

#include <algorithm>

namespace restride::distributed {
namespace {

/// Part `digit` of [lo, hi) dealt out in blocks.
Comb cyclic(std::int64_t lo, std::int64_t hi, std::int64_t block, std::int64_t parts, std::int64_t digit) {
  std::int64_t start = 0, step = 0;
  if (!checked_mul(digit, block, &start) || start >= hi - lo) return interval(hi, hi);
  start += lo;
  if (parts == 1) return interval(start, hi);
  if (block >= hi - start) return interval(start, hi);
  if (!checked_mul(block, parts, &step) || step >= hi - start) return interval(start, start + block);
  return {start, block, step, hi};
}

Comb balanced(std::int64_t lo, std::int64_t hi, std::int64_t parts, std::int64_t digit) {
  const std::int64_t each = (hi - lo) / parts, more = (hi - lo) % parts;
  const std::int64_t start = lo + digit * each + std::min(digit, more);
  return interval(start, start + each + (digit < more ? 1 : 0));
}

Comb by_ceiling(std::int64_t lo, std::int64_t hi, std::int64_t parts, std::int64_t digit) {
  const std::int64_t each = ceil_div(hi - lo, parts);
  const std::int64_t start = each > 0 && digit > (hi - lo) / each ? hi : std::min(lo + digit * each, hi);
  return interval(start, std::min(start + each, hi));
}

}  // namespace

std::int64_t elements_of(const Region& region) noexcept {
  std::int64_t n = 1;
  for (const Comb& c : region) n *= c.size();
  return n;
}

AxisParts::AxisParts(std::int64_t extent, const std::vector<Split>& splits, const Grid& grid) : extent_(extent) {
  for (const Split& s : splits) {
    std::int64_t parts = 1;
    for (int g : s.grid_axes) {
      parts *= grid.sizes[static_cast<std::size_t>(g)];
      grid_axes_.push_back(g);
    }
    stages_.push_back({s.kind, s.block, s.first, parts});
    count_ *= parts;
  }
}

Comb AxisParts::comb(std::int64_t part) const {
  Comb c = interval(0, extent_);
  std::int64_t below = count_;
  for (const Stage& s : stages_) {
    below /= s.parts;
    const std::int64_t digit = part / below % s.parts;
    switch (s.kind) {
      case SplitKind::kBlock: c = balanced(c.start, c.end, s.parts, digit); break;
      case SplitKind::kCeil: c = by_ceiling(c.start, c.end, s.parts, digit); break;
      case SplitKind::kCyclic:
        c = cyclic(c.start, c.end, s.block, s.parts, (digit - s.first % s.parts + s.parts) % s.parts);
    }
  }
  return c;
}

std::pair<std::int64_t, std::int64_t> AxisParts::near(const Comb& c) const {
  for (const Stage& s : stages_)
    if (s.kind == SplitKind::kCyclic) return {0, count_};
  if (c.empty() || count_ == 1) return {0, c.empty() ? 0 : count_};
  // Blocks ascend with their numbers: the first that ends behind the comb's start, the first that begins at its end.
  const auto first_where = [&](auto holds) {
    std::int64_t lo = 0, hi = count_;
    while (lo < hi) {
      const std::int64_t mid = lo + (hi - lo) / 2;
      if (holds(comb(mid)))
        hi = mid;
      else
        lo = mid + 1;
    }
    return lo;
  };
  return {first_where([&](const Comb& b) { return b.end > c.start; }),
          first_where([&](const Comb& b) { return b.start >= c.end; })};
}

GridIndex::GridIndex(const Distribution& d) : sizes_(d.grid.sizes), weights_(d.grid.sizes.size(), 1) {
  std::vector<bool> used(sizes_.size(), false);
  for (std::size_t a = 0; a < d.shape.size(); ++a) {
    axes_.emplace_back(d.shape[a], d.axes[a], d.grid);
    for (int g : axes_.back().grid_axes()) used[static_cast<std::size_t>(g)] = true;
  }
  for (std::size_t g = sizes_.size(); g-- > 0;) {
    weights_[g] = places_;
    places_ *= sizes_[g];
    if (used[g]) continue;
    free_axes_.insert(free_axes_.begin(), static_cast<int>(g));
    replicas_ *= sizes_[g];
  }
  for (std::int64_t place = 0; place < places_; ++place) {
    std::int64_t rank = d.grid.first;
    if (!d.grid.ranks.empty()) {
      rank = d.grid.ranks[static_cast<std::size_t>(place)];
    } else if (d.grid.strides.empty()) {
      rank += place;
    } else {
      for (std::size_t g = 0; g < sizes_.size(); ++g) rank += place / weights_[g] % sizes_[g] * d.grid.strides[g];
    }
    rank_of_.push_back(static_cast<std::int32_t>(rank));
    if (rank >= static_cast<std::int64_t>(place_of_.size())) place_of_.resize(static_cast<std::size_t>(rank) + 1, -1);
    place_of_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(place);
  }
}

std::int64_t GridIndex::digits_to_place(const std::vector<int>& axes, std::int64_t digits) const {
  std::int64_t place = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto g = static_cast<std::size_t>(axes[i]);
    place += digits % sizes_[g] * weights_[g];
    digits /= sizes_[g];
  }
  return place;
}

std::int64_t GridIndex::place_to_digits(const std::vector<int>& axes, std::int64_t place) const {
  std::int64_t digits = 0;
  for (int axis : axes) {
    const auto g = static_cast<std::size_t>(axis);
    digits = digits * sizes_[g] + place / weights_[g] % sizes_[g];
  }
  return digits;
}

std::int64_t GridIndex::place_of_part(std::size_t a, std::int64_t part) const {
  return digits_to_place(axes_[a].grid_axes(), part);
}

std::int64_t GridIndex::part_of_place(std::size_t a, std::int64_t place) const {
  return place_to_digits(axes_[a].grid_axes(), place);
}

Region GridIndex::region(std::int64_t place) const {
  Region out;
  out.reserve(axes_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a) out.push_back(axes_[a].comb(part_of_place(a, place)));
  return out;
}

Region region_of(const Box& box) {
  Region out;
  out.reserve(box.lo.size());
  for (std::size_t a = 0; a < box.lo.size(); ++a) out.push_back(interval(box.lo[a], box.hi[a]));
  return out;
}

std::vector<Region> regions(const Distribution& d, int rank) {
  std::vector<Region> out;
  if (d.by_boxes) {
    for (const Box& b : d.boxes)
      if (b.rank == rank) out.push_back(region_of(b));
    return out;
  }
  const GridIndex grid(d);
  if (const std::int64_t place = grid.place(rank); place >= 0) out.push_back(grid.region(place));
  return out;
}

std::vector<int> memory_order(const Distribution& d) {
  std::vector<int> order = d.order;
  if (order.empty())
    for (std::size_t a = 0; a < d.shape.size(); ++a) order.push_back(static_cast<int>(a));
  return order;
}

Layout dense_layout(const Region& region, const std::vector<int>& order, Element element, std::int64_t offset_bytes) {
  std::vector<std::int64_t> extents, strides(region.size(), element.size_bytes);
  for (const Comb& c : region) extents.push_back(c.size());
  std::int64_t stride = element.size_bytes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(order[i]);
    strides[a] = stride;
    // Only an empty region's product may not fit, and its strides place nothing.
    if (!checked_mul(stride, std::max<std::int64_t>(extents[a], 1), &stride)) stride = element.size_bytes;
  }
  return strided(element, extents, strides, offset_bytes);
}

}  // namespace restride::distributed
