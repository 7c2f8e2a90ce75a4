// The planner: the bytes that each rank sends to each other one.
#include "src/distributed/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace restride::distributed {
namespace {

AxisRuns runs(const AxisPieces& pieces, std::int64_t AxisPiece::*step, std::int64_t extent) {
  AxisRuns out;
  for (const AxisPiece& p : pieces) {
    const std::int64_t run = p.count == 1 || p.*step == p.length ? p.size() : p.length;
    out.shortest = out.shortest == 0 ? run : std::min(out.shortest, run);
    out.longest = std::max(out.longest, run);
  }
  out.all = out.shortest == extent;
  return out;
}

/// The parts of a grid's axis that meet a comb: how much each adds to the place, and the intersection.
struct AxisList {
  std::vector<std::int64_t> places;
  std::vector<AxisMeeting> meetings;
};

/// Calls `take(place, elements, meetings)` for every choice of one meeting an axis; places add up.
template <class Take>
void for_each_choice(const std::vector<AxisList>& axes, const Take& take) {
  const std::size_t rank = axes.size();
  for (const AxisList& list : axes)
    if (list.meetings.empty()) return;
  std::vector<std::size_t> at(rank, 0);
  std::vector<const AxisMeeting*> chosen(rank);
  std::vector<std::int64_t> place(rank + 1, 0), elements(rank + 1, 1);  // of the axes before
  std::size_t a = 0;
  for (;;) {
    for (; a < rank; ++a) {
      chosen[a] = &axes[a].meetings[at[a]];
      place[a + 1] = place[a] + axes[a].places[at[a]];
      elements[a + 1] = elements[a] * chosen[a]->size;
    }
    take(place[rank], elements[rank], std::span<const AxisMeeting* const>(chosen));
    while (a > 0 && ++at[a - 1] == axes[a - 1].meetings.size()) at[--a] = 0;
    if (a == 0) return;
    --a;
  }
}

std::vector<PairParts> collected(std::vector<std::pair<int, Part>> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.dst_region, a.second.cell) <
           std::tuple(b.first, b.second.dst_region, b.second.cell);
  });
  std::vector<PairParts> out;
  for (auto& [peer, part] : parts) {
    if (out.empty() || out.back().peer != peer) out.push_back({peer, 0, {}});
    out.back().elements += part.elements;
    out.back().parts.push_back(std::move(part));
  }
  return out;
}

Part part_of(const PartView& view) {
  Part out{view.src_region, view.dst_region, view.cell, view.elements, {}};
  out.axes.reserve(view.axes.size());
  for (const AxisMeeting* m : view.axes) out.axes.push_back(m->pieces);
  return out;
}

/// The smaller of the two: it crosses the wire.
Element smaller(const Element& src, const Element& dst) { return dst.size_bytes < src.size_bytes ? dst : src; }

std::int64_t volume(const Cell& c) {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < c.lo.size(); ++a) n *= c.hi[a] - c.lo[a];
  return n;
}

void require_same_shape(const Distribution& src, const Distribution& dst) {
  if (src.shape.size() != dst.shape.size())
    throw ShapeError(fmt::format("src is of {} and dst of {}: {} axes against {}; distribute one global shape",
                                 listed(src.shape), listed(dst.shape), src.shape.size(), dst.shape.size()));
  for (std::size_t a = 0; a < src.shape.size(); ++a)
    if (src.shape[a] != dst.shape[a])
      throw ShapeError(
          fmt::format("axis {} has extent {} in src and {} in dst; distribute one global shape, and permute "
                      "by the layouts' strides",
                      a, src.shape[a], dst.shape[a]));
}

/// Errors: ShapeError that names the first index of the target that no rank of the source has.
void require_covered(const Exchange::Impl& x) {
  std::int64_t covered = 0, all = 1;
  for (const Cell& c : x.cells) covered += volume(c);
  for (std::int64_t n : x.src.shape) all *= n;
  if (covered == all) return;
  std::optional<std::vector<std::int64_t>> first;
  int wanting = 0;
  const auto look = [&](const Region& region, int rank) {
    const auto missing = first_missing(region, x.cells);
    if (!missing || (first && *first <= *missing)) return;
    first = missing;
    wanting = rank;
  };
  if (x.dst_grid) {
    for (std::int64_t place = 0; place < x.dst_grid->places(); ++place)
      look(x.dst_grid->region(place), x.dst_grid->rank(place));
  } else {
    for (const Exchange::Impl::Target& t : x.targets) look(t.axes, t.rank);
  }
  if (first)
    throw ShapeError(
        fmt::format("rank {} of the target needs index {}, which no rank of the source has; add a box that "
                    "covers it to the source, or leave it out of the target",
                    wanting, listed(*first)));
}

}  // namespace

Runs runs_of(std::span<const AxisMeeting* const> axes, const std::vector<int>& order, AxisRuns AxisMeeting::*side) {
  std::int64_t inner = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const AxisRuns& r = axes[static_cast<std::size_t>(order[i])]->*side;
    if (!r.all) return {inner * r.shortest, inner * r.longest};
    inner *= r.longest;
  }
  return {inner, inner};
}

void Exchange::Impl::meet(const Comb& src_comb, const Comb& dst_comb, std::int64_t src_shift, std::int64_t src_extent,
                          std::int64_t dst_extent, AxisMeeting& out) {
  out.pieces.clear();
  intersect(src_comb, dst_comb, out.pieces);
  if (src_shift != 0)
    for (AxisPiece& p : out.pieces) p.src_first += src_shift;
  out.size = size(out.pieces);
  if (out.size == 0) return;
  out.src = runs(out.pieces, &AxisPiece::src_step, src_extent);
  out.dst = runs(out.pieces, &AxisPiece::dst_step, dst_extent);
}

std::int64_t Exchange::Impl::replica_for(int to) const {
  const std::int64_t replicas = src_grid->replicas();
  if (replicas == 1) return 0;
  const std::int64_t place = src_grid->place(to);
  return place >= 0 ? src_grid->replica_of_place(place) : to % replicas;
}

int Exchange::Impl::owner_of(std::int64_t cell, int to) const {
  const std::vector<CellOwner>& owners = cells[static_cast<std::size_t>(cell)].owners;
  if (owners.size() == 1) return owners[0].rank;
  const auto at =
      std::lower_bound(owners.begin(), owners.end(), to, [](const CellOwner& o, int rank) { return o.rank < rank; });
  if (at != owners.end() && at->rank == to) return to;
  return owners[static_cast<std::size_t>((to + cell) % static_cast<std::int64_t>(owners.size()))].rank;
}

void Exchange::Impl::visit_sends(int rank, const Visit& visit) const {
  // The region, or the cell of one, whose elements are given, and where its region's numbering starts.
  const auto give = [&](const Region& given, const std::vector<std::int64_t>& shift, const Region& whole,
                        int src_region, std::int64_t cell, const auto& gives_to) {
    if (dst_grid) {
      std::vector<AxisList> lists(given.size());
      AxisMeeting m;
      for (std::size_t a = 0; a < given.size(); ++a) {
        const AxisParts& parts = dst_grid->axes()[a];
        const auto [first, last] = parts.near(given[a]);
        for (std::int64_t part = first; part < last; ++part) {
          const Comb target = parts.comb(part);
          meet(given[a], target, shift[a], whole[a].size(), target.size(), m);
          if (m.size == 0) continue;
          lists[a].places.push_back(dst_grid->place_of_part(a, part));
          lists[a].meetings.push_back(std::move(m));
          m = {};
        }
      }
      const std::int64_t copies = dst_grid->replicas();
      std::vector<std::int64_t> places;
      for (std::int64_t c = 0; c < copies; ++c) places.push_back(dst_grid->place_of_replica(c));
      for_each_choice(lists, [&](std::int64_t place, std::int64_t elements, auto axes) {
        for (std::int64_t at : places)
          if (const int to = dst_grid->rank(place + at); gives_to(to)) visit({to, src_region, 0, cell, elements, axes});
      });
      return;
    }
    std::vector<AxisMeeting> meetings(given.size());
    std::vector<const AxisMeeting*> axes;
    axes.reserve(meetings.size());
    for (const AxisMeeting& m : meetings) axes.push_back(&m);
    for (const Target& t : targets) {
      if (!gives_to(t.rank)) continue;
      std::int64_t elements = 1;
      for (std::size_t a = 0; elements > 0 && a < given.size(); ++a) {
        meet(given[a], t.axes[a], shift[a], whole[a].size(), t.axes[a].size(), meetings[a]);
        elements *= meetings[a].size;
      }
      if (elements > 0) visit({t.rank, src_region, t.region, cell, elements, axes});
    }
  };
  if (src_grid) {
    const std::int64_t place = src_grid->place(rank);
    if (place < 0) return;
    const Region region = src_grid->region(place);
    const std::int64_t replica = src_grid->replica_of_place(place);
    give(region, std::vector<std::int64_t>(region.size(), 0), region, 0, 0,
         [&](int to) { return replica_for(to) == replica; });
    return;
  }
  auto it = std::lower_bound(owned.begin(), owned.end(), std::pair(rank, std::int64_t{0}));
  for (; it != owned.end() && it->first == rank; ++it) {
    const std::int64_t cell = it->second;
    const Cell& c = cells[static_cast<std::size_t>(cell)];
    const auto owner =
        std::find_if(c.owners.begin(), c.owners.end(), [&](const CellOwner& o) { return o.rank == rank; });
    std::vector<std::int64_t> shift;
    Region given;
    for (std::size_t a = 0; a < c.lo.size(); ++a) {
      given.push_back(interval(c.lo[a], c.hi[a]));
      shift.push_back(c.lo[a] - owner->box->lo[a]);
    }
    give(given, shift, region_of(*owner->box), owner->region, cell, [&](int to) { return owner_of(cell, to) == rank; });
  }
}

void Exchange::Impl::visit_receives(int rank, const Visit& visit) const {
  const auto take = [&](const Region& taken, int dst_region) {
    if (src_grid) {
      std::vector<AxisList> lists(taken.size());
      AxisMeeting m;
      for (std::size_t a = 0; a < taken.size(); ++a) {
        const AxisParts& parts = src_grid->axes()[a];
        const auto [first, last] = parts.near(taken[a]);
        for (std::int64_t part = first; part < last; ++part) {
          const Comb source = parts.comb(part);
          meet(source, taken[a], 0, source.size(), taken[a].size(), m);
          if (m.size == 0) continue;
          lists[a].places.push_back(src_grid->place_of_part(a, part));
          lists[a].meetings.push_back(std::move(m));
          m = {};
        }
      }
      const std::int64_t at = src_grid->place_of_replica(replica_for(rank));
      for_each_choice(lists, [&](std::int64_t place, std::int64_t elements, auto axes) {
        visit({src_grid->rank(place + at), 0, dst_region, 0, elements, axes});
      });
      return;
    }
    std::vector<AxisMeeting> meetings(taken.size());
    std::vector<const AxisMeeting*> axes;
    axes.reserve(meetings.size());
    for (const AxisMeeting& m : meetings) axes.push_back(&m);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const Cell& c = cells[k];
      bool meets = true;
      for (std::size_t a = 0; meets && a < taken.size(); ++a)
        meets = taken[a].next(c.lo[a]) < std::min(c.hi[a], taken[a].end);
      if (!meets) continue;
      const auto cell = static_cast<std::int64_t>(k);
      const int from = owner_of(cell, rank);
      const CellOwner& owner =
          *std::find_if(c.owners.begin(), c.owners.end(), [&](const CellOwner& o) { return o.rank == from; });
      std::int64_t elements = 1;
      for (std::size_t a = 0; a < taken.size(); ++a) {
        meet(interval(c.lo[a], c.hi[a]), taken[a], c.lo[a] - owner.box->lo[a], owner.box->hi[a] - owner.box->lo[a],
             taken[a].size(), meetings[a]);
        elements *= meetings[a].size;
      }
      visit({from, owner.region, dst_region, cell, elements, axes});
    }
  };
  if (dst_grid) {
    if (const std::int64_t place = dst_grid->place(rank); place >= 0) take(dst_grid->region(place), 0);
    return;
  }
  auto it = std::lower_bound(targets.begin(), targets.end(), rank, [](const Target& t, int r) { return t.rank < r; });
  for (; it != targets.end() && it->rank == rank; ++it) take(it->axes, it->region);
}

std::vector<PairParts> Exchange::Impl::sends(int rank) const {
  std::vector<std::pair<int, Part>> parts;
  visit_sends(rank, [&](const PartView& view) { parts.emplace_back(view.peer, part_of(view)); });
  return collected(std::move(parts));
}

std::vector<PairParts> Exchange::Impl::receives(int rank) const {
  std::vector<std::pair<int, Part>> parts;
  visit_receives(rank, [&](const PartView& view) { parts.emplace_back(view.peer, part_of(view)); });
  return collected(std::move(parts));
}

std::int64_t Exchange::Impl::target_elements(int rank) const {
  if (dst_grid) {
    const std::int64_t place = dst_grid->place(rank);
    return place >= 0 ? elements_of(dst_grid->region(place)) : 0;
  }
  std::int64_t n = 0;
  auto it = std::lower_bound(targets.begin(), targets.end(), rank, [](const Target& t, int r) { return t.rank < r; });
  for (; it != targets.end() && it->rank == rank; ++it) n += elements_of(it->axes);
  return n;
}

std::int64_t Exchange::Impl::kept_elements(int rank) const {
  std::vector<Region> own;  // of the source, disjoint
  if (src_grid) {
    if (const std::int64_t place = src_grid->place(rank); place >= 0) own.push_back(src_grid->region(place));
  } else {
    auto it = std::lower_bound(owned.begin(), owned.end(), std::pair(rank, std::int64_t{0}));
    for (; it != owned.end() && it->first == rank; ++it) {
      const Cell& c = cells[static_cast<std::size_t>(it->second)];
      own.push_back(region_of(Box{rank, c.lo, c.hi}));
    }
  }
  if (own.empty()) return 0;
  std::int64_t n = 0;
  AxisPieces pieces;
  const auto count = [&](const Region& target) {
    for (const Region& r : own) {
      std::int64_t common = 1;
      for (std::size_t a = 0; common > 0 && a < r.size(); ++a) {
        pieces.clear();
        intersect(r[a], target[a], pieces);
        common *= size(pieces);
      }
      n += common;
    }
  };
  if (dst_grid) {
    if (const std::int64_t place = dst_grid->place(rank); place >= 0) count(dst_grid->region(place));
    return n;
  }
  auto it = std::lower_bound(targets.begin(), targets.end(), rank, [](const Target& t, int r) { return t.rank < r; });
  for (; it != targets.end() && it->rank == rank; ++it) count(it->axes);
  return n;
}

Exchange::Exchange(const Distribution& src, Element src_element, const Distribution& dst, Element dst_element) {
  auto x = std::make_shared<Impl>();
  x->ranks = std::max(ranks_of(src), ranks_of(dst));
  require_same_shape(src, dst);
  if (!castable(dst_element, src_element))
    throw CastError(fmt::format("no conversion from {} to {}; convert on a side first",
                                restride::to_string(src_element), restride::to_string(dst_element)));
  x->src = src;
  x->dst = dst;
  x->src_element = src_element;
  x->dst_element = dst_element;
  x->wire = smaller(src_element, dst_element);
  // Throws if the bytes of the whole tensor do not fit; the bytes of all copies must fit, too: they are added up.
  const std::int64_t bytes =
      std::max(contiguous(src_element, src.shape).bytes(), contiguous(dst_element, dst.shape).bytes());
  if (std::int64_t all = 0; !checked_mul(bytes, x->ranks, &all))
    throw RangeError(
        fmt::format("{} bytes on each of {} ranks do not fit 63 bits; use a smaller shape", bytes, x->ranks));
  x->src_order = memory_order(src);
  x->dst_order = memory_order(dst);
  if (src.by_boxes) {
    x->cells = cells_of(x->src);
    for (std::size_t k = 0; k < x->cells.size(); ++k)
      for (const CellOwner& o : x->cells[k].owners) x->owned.emplace_back(o.rank, static_cast<std::int64_t>(k));
    std::sort(x->owned.begin(), x->owned.end());
  } else {
    x->src_grid.emplace(src);
  }
  if (dst.by_boxes) {
    std::vector<int> seen(static_cast<std::size_t>(x->ranks), 0);
    for (const Box& b : dst.boxes) {
      const int region = seen[static_cast<std::size_t>(b.rank)]++;
      if (Region axes = region_of(b); elements_of(axes) > 0) x->targets.push_back({b.rank, region, std::move(axes)});
    }
    std::stable_sort(x->targets.begin(), x->targets.end(),
                     [](const Impl::Target& a, const Impl::Target& b) { return a.rank < b.rank; });
  } else {
    x->dst_grid.emplace(dst);
  }
  if (src.by_boxes) require_covered(*x);
  impl_ = std::move(x);
}

const Distribution& Exchange::src() const noexcept { return impl_->src; }
const Distribution& Exchange::dst() const noexcept { return impl_->dst; }
Element Exchange::src_element() const noexcept { return impl_->src_element; }
Element Exchange::dst_element() const noexcept { return impl_->dst_element; }
Element Exchange::wire_element() const noexcept { return impl_->wire; }
int Exchange::ranks() const noexcept { return impl_->ranks; }

}  // namespace restride::distributed
