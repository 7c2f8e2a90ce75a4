// Random distributions of small tensors, and the naive answer to who has what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <restride/distributed.hpp>

namespace restride::distributed::test {

using Rng = std::mt19937_64;

inline std::int64_t pick(Rng& rng, std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
}

/// Extents 0 to 37 with primes, ones and now and then a zero; about `most` elements.
inline std::vector<std::int64_t> random_shape(Rng& rng, int most_axes = 6, std::int64_t most = 3000) {
  constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23, 29, 31, 32, 37};
  std::vector<std::int64_t> shape(static_cast<std::size_t>(pick(rng, 0, most_axes)));
  std::int64_t left = most;
  for (std::int64_t& n : shape) {
    n = std::min(kExtents[pick(rng, 0, 15)], left);
    left /= n;
    if (pick(rng, 0, 99) == 0) n = 0;
    left = std::max<std::int64_t>(left, 1);
  }
  std::shuffle(shape.begin(), shape.end(), rng);
  return shape;
}

inline std::vector<int> random_order(Rng& rng, std::size_t axes) {
  std::vector<int> order(axes);
  for (std::size_t a = 0; a < axes; ++a) order[a] = static_cast<int>(a);
  std::shuffle(order.begin(), order.end(), rng);
  return order;
}

/// A grid of at most `ranks` ranks, in C order, another order, or listed.
inline Grid random_grid(Rng& rng, int ranks) {
  Grid g;
  std::int64_t left = pick(rng, 1, ranks), places = 1;
  const std::int64_t all = left;
  while (left > 1 && g.sizes.size() < 4) {
    const std::int64_t n = pick(rng, 0, 2) == 0 ? left : pick(rng, 1, left);
    g.sizes.push_back(n);
    places *= n;
    left /= n;
  }
  if (g.sizes.empty()) g.sizes.push_back(1);
  std::shuffle(g.sizes.begin(), g.sizes.end(), rng);
  g.first = pick(rng, 0, 2) == 0 ? pick(rng, 0, ranks - all) : 0;
  const std::int64_t kind = pick(rng, 0, 3);
  if (kind == 1) {  // another order of the axes, some of them backwards
    g.strides.assign(g.sizes.size(), 1);
    std::int64_t stride = 1;
    for (int axis : random_order(rng, g.sizes.size())) {
      const auto a = static_cast<std::size_t>(axis);
      g.strides[a] = stride;
      if (pick(rng, 0, 3) == 0) {
        g.strides[a] = -stride;
        g.first += stride * (g.sizes[a] - 1);
      }
      stride *= g.sizes[a];
    }
  } else if (kind == 2) {
    std::vector<int> any(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) any[static_cast<std::size_t>(r)] = r;
    std::shuffle(any.begin(), any.end(), rng);
    g.ranks.assign(any.begin(), any.begin() + places);
    g.first = 0;
  }
  return g;
}

/// Splits over a random grid: every kind, nested, whole axes, grid axes left over.
inline Distribution random_splits(Rng& rng, const std::vector<std::int64_t>& shape, int ranks) {
  Distribution d;
  d.shape = shape;
  d.grid = random_grid(rng, ranks);
  d.axes.resize(shape.size());
  std::vector<int> grid_axes = random_order(rng, d.grid.sizes.size());
  for (int g : grid_axes) {
    if (shape.empty() || pick(rng, 0, 5) == 0) continue;  // replicates
    std::vector<Split>& splits =
        d.axes[static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(shape.size()) - 1))];
    if (!splits.empty() && (splits.back().kind == SplitKind::kCyclic || pick(rng, 0, 1) == 0)) {
      splits.back().grid_axes.push_back(g);
      continue;
    }
    Split s;
    s.kind = static_cast<SplitKind>(pick(rng, 0, 2));
    s.grid_axes = {g};
    if (s.kind == SplitKind::kCyclic) s.block = pick(rng, 0, 1) == 0 ? pick(rng, 1, 4) : pick(rng, 1, 40);
    splits.push_back(s);
  }
  for (std::vector<Split>& splits : d.axes) {
    if (splits.empty() || splits.back().kind != SplitKind::kCyclic) continue;
    std::int64_t parts = 1;
    for (int g : splits.back().grid_axes) parts *= d.grid.sizes[static_cast<std::size_t>(g)];
    splits.back().first = pick(rng, 0, parts - 1);
  }
  if (pick(rng, 0, 2) == 0) d.order = random_order(rng, shape.size());
  return d;
}

/// Boxes of a random k-d split; `halo` lets them grow into each other, `all` keeps every index covered.
inline Distribution random_boxes(Rng& rng, const std::vector<std::int64_t>& shape, int ranks, bool halo, bool all) {
  Distribution d;
  d.shape = shape;
  d.by_boxes = true;
  std::vector<Box> boxes{{0, std::vector<std::int64_t>(shape.size(), 0), shape}};
  const std::int64_t cuts = shape.empty() ? 0 : pick(rng, 0, 12);
  for (std::int64_t i = 0; i < cuts; ++i) {
    const auto at = static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(boxes.size()) - 1));
    const auto a = static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(shape.size()) - 1));
    const std::int64_t cut = pick(rng, boxes[at].lo[a], boxes[at].hi[a]);
    boxes.push_back(boxes[at]);
    boxes[at].hi[a] = cut;
    boxes.back().lo[a] = cut;
  }
  std::shuffle(boxes.begin(), boxes.end(), rng);
  for (Box& b : boxes) {
    b.rank = static_cast<int>(pick(rng, 0, ranks - 1));
    if (!all && pick(rng, 0, 5) == 0) continue;
    if (halo)
      for (std::size_t a = 0; a < shape.size(); ++a) {
        b.lo[a] = std::max<std::int64_t>(0, b.lo[a] - pick(rng, 0, 2));
        b.hi[a] = std::min(shape[a], b.hi[a] + pick(rng, 0, 2));
      }
    d.boxes.push_back(b);
    if (halo && pick(rng, 0, 3) == 0) {  // the same box on another rank
      d.boxes.push_back(b);
      d.boxes.back().rank = static_cast<int>(pick(rng, 0, ranks - 1));
    }
  }
  if (pick(rng, 0, 2) == 0) d.order = random_order(rng, shape.size());
  return d;
}

inline Distribution random_distribution(Rng& rng, const std::vector<std::int64_t>& shape, int ranks,
                                        bool covers = true) {
  if (pick(rng, 0, 3) > 0) return random_splits(rng, shape, ranks);
  return random_boxes(rng, shape, ranks, pick(rng, 0, 1) == 0, covers);
}

/// Calls f(global index) for every index of a region in C order of its local indices.
template <class F>
void for_each_index(const Distribution& d, int rank, int region, const F& f) {
  const std::vector<std::int64_t> shape = local_shape(d, rank, region);
  std::vector<std::vector<std::int64_t>> global(shape.size());
  for (std::size_t a = 0; a < shape.size(); ++a)
    for (std::int64_t i = 0; i < shape[a]; ++i)
      global[a].push_back(global_index(d, rank, region, static_cast<int>(a), i));
  std::int64_t n = 1;
  for (std::int64_t e : shape) n *= e;
  std::vector<std::int64_t> index(shape.size());
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = k;
    for (std::size_t a = shape.size(); a-- > 0;) {
      index[a] = global[a][static_cast<std::size_t>(rest % shape[a])];
      rest /= shape[a];
    }
    f(index);
  }
}

}  // namespace restride::distributed::test
