// Cutting overlapping boxes into cells, and finding the parts that no cell covers.
#include "src/distributed/cells.h"

#include <algorithm>
#include <tuple>

namespace restride::distributed {
namespace {

bool overlap(const Cell& a, const Cell& b) {
  for (std::size_t i = 0; i < a.lo.size(); ++i)
    if (a.hi[i] <= b.lo[i] || b.hi[i] <= a.lo[i]) return false;
  return true;
}

bool empty(const Box& b) {
  for (std::size_t i = 0; i < b.lo.size(); ++i)
    if (b.lo[i] >= b.hi[i]) return true;
  return false;
}

auto bounds(const Cell& c) { return std::tie(c.lo, c.hi); }

void add_owners(const std::vector<CellOwner>& from, std::vector<CellOwner>& to) {
  for (const CellOwner& o : from) {
    const auto at =
        std::lower_bound(to.begin(), to.end(), o.rank, [](const CellOwner& a, int rank) { return a.rank < rank; });
    if (at == to.end() || at->rank != o.rank) to.insert(at, o);
  }
}

/// Appends the part of `from` outside of `cut`, which lies in it: at most two cells an axis.
void subtract(Cell from, const Cell& cut, std::vector<Cell>& out) {
  for (std::size_t i = 0; i < from.lo.size(); ++i) {
    if (from.lo[i] < cut.lo[i]) {
      out.push_back(from);
      out.back().hi[i] = cut.lo[i];
      from.lo[i] = cut.lo[i];
    }
    if (cut.hi[i] < from.hi[i]) {
      out.push_back(from);
      out.back().lo[i] = cut.hi[i];
      from.hi[i] = cut.hi[i];
    }
  }
}

/// Adds a cell to disjoint ones.
void insert(Cell added, std::vector<Cell>& cells) {
  std::vector<Cell> rest{std::move(added)};
  std::vector<Cell> next, made;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    Cell& c = cells[k];
    const auto hit = std::find_if(rest.begin(), rest.end(), [&](const Cell& r) { return overlap(r, c); });
    if (hit == rest.end()) {
      if (kept != k) cells[kept] = std::move(c);
      ++kept;
      continue;
    }
    // Parts of `rest` are disjoint, so the rest of the cell may meet another part: it goes round again.
    Cell common = c;
    for (std::size_t i = 0; i < c.lo.size(); ++i) {
      common.lo[i] = std::max(c.lo[i], hit->lo[i]);
      common.hi[i] = std::min(c.hi[i], hit->hi[i]);
    }
    const Cell part = std::move(*hit);
    rest.erase(hit);
    subtract(part, common, rest);
    next.clear();
    subtract(c, common, next);
    add_owners(part.owners, common.owners);
    made.push_back(std::move(common));
    cells[k] = Cell{};  // its remains follow at the end of the list
    cells.insert(cells.end(), next.begin(), next.end());
  }
  cells.resize(kept);
  cells.insert(cells.end(), made.begin(), made.end());
  cells.insert(cells.end(), rest.begin(), rest.end());
}

/// Which cells overlap another one: a sweep along the axis with the most different starts.
std::vector<bool> overlapping(const std::vector<Cell>& cells) {
  std::vector<bool> out(cells.size(), false);
  if (cells.empty()) return out;
  std::size_t axis = 0, most = 0;
  for (std::size_t a = 0; a < cells[0].lo.size(); ++a) {
    std::vector<std::int64_t> starts;
    starts.reserve(cells.size());
    for (const Cell& c : cells) starts.push_back(c.lo[a]);
    std::sort(starts.begin(), starts.end());
    const auto unlike = static_cast<std::size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
    if (unlike > most) std::tie(axis, most) = std::pair(a, unlike);
  }
  if (cells[0].lo.empty()) {
    if (cells.size() > 1) out.assign(cells.size(), true);
    return out;
  }
  std::vector<std::size_t> by_start(cells.size()), active;
  for (std::size_t i = 0; i < cells.size(); ++i) by_start[i] = i;
  std::sort(by_start.begin(), by_start.end(),
            [&](std::size_t a, std::size_t b) { return cells[a].lo[axis] < cells[b].lo[axis]; });
  for (std::size_t i : by_start) {
    std::erase_if(active, [&](std::size_t j) { return cells[j].hi[axis] <= cells[i].lo[axis]; });
    for (std::size_t j : active)
      if (overlap(cells[i], cells[j])) out[i] = out[j] = true;
    active.push_back(i);
  }
  return out;
}

/// The first index of `region` from `axis` on that none of `active` covers; the axes before are in `index`.
bool find_missing(const Region& region, std::size_t axis, const std::vector<const Cell*>& active,
                  std::vector<std::int64_t>& index) {
  if (active.empty()) {
    for (std::size_t a = axis; a < region.size(); ++a) index.push_back(region[a].start);
    return true;
  }
  if (axis == region.size()) return false;
  const Comb& c = region[axis];
  std::vector<std::int64_t> cuts{0};
  for (const Cell* cell : active) {
    cuts.push_back(cell->lo[axis]);
    cuts.push_back(cell->hi[axis]);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const std::int64_t at = c.next(cuts[k]);  // between two cuts all indices have the same cells
    if (at >= c.end || (k + 1 < cuts.size() && at >= cuts[k + 1])) continue;
    std::vector<const Cell*> here;
    for (const Cell* cell : active)
      if (cell->lo[axis] <= at && at < cell->hi[axis]) here.push_back(cell);
    index.push_back(at);
    if (find_missing(region, axis + 1, here, index)) return true;
    index.pop_back();
  }
  return false;
}

}  // namespace

std::vector<Cell> cells_of(const Distribution& d) {
  std::vector<Cell> unique;
  std::vector<int> regions_seen;
  for (const Box& b : d.boxes) {
    if (b.rank >= static_cast<int>(regions_seen.size())) regions_seen.resize(static_cast<std::size_t>(b.rank) + 1, 0);
    const int region = regions_seen[static_cast<std::size_t>(b.rank)]++;
    if (!empty(b)) unique.push_back({b.lo, b.hi, {{b.rank, region, &b}}});
  }
  std::stable_sort(unique.begin(), unique.end(), [](const Cell& a, const Cell& b) { return bounds(a) < bounds(b); });
  std::size_t n = 0;
  for (std::size_t i = 0; i < unique.size(); ++i) {
    if (n > 0 && bounds(unique[n - 1]) == bounds(unique[i])) {
      add_owners(unique[i].owners, unique[n - 1].owners);
    } else {
      if (n != i) unique[n] = std::move(unique[i]);
      ++n;
    }
  }
  unique.resize(n);
  const std::vector<bool> cut = overlapping(unique);
  std::vector<Cell> out, crossing;
  for (std::size_t i = 0; i < unique.size(); ++i) {
    if (cut[i])
      insert(std::move(unique[i]), crossing);
    else
      out.push_back(std::move(unique[i]));
  }
  out.insert(out.end(), std::make_move_iterator(crossing.begin()), std::make_move_iterator(crossing.end()));
  std::sort(out.begin(), out.end(), [](const Cell& a, const Cell& b) { return bounds(a) < bounds(b); });
  return out;
}

std::optional<std::vector<std::int64_t>> first_missing(const Region& region, const std::vector<Cell>& cells) {
  for (const Comb& c : region)
    if (c.empty()) return std::nullopt;
  std::vector<const Cell*> active;
  for (const Cell& cell : cells) {
    bool meets = true;
    for (std::size_t a = 0; meets && a < region.size(); ++a) {
      const std::int64_t at = region[a].next(cell.lo[a]);
      meets = at < cell.hi[a] && at < region[a].end;
    }
    if (meets) active.push_back(&cell);
  }
  std::vector<std::int64_t> index;
  if (!find_missing(region, 0, active, index)) return std::nullopt;
  return index;
}

}  // namespace restride::distributed
