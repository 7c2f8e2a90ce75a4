// Which thread of packed's CUDA kernels moves which words, so that accesses are wide and shared memory's banks even.
#include <cmath>

#include "src/cuda/packed/banks.h"
#include "src/cuda/packed/lattice.h"

namespace restride::cuda::packed {

using layout::Canonical;

namespace {

/// Of rows, by the lattice a.store; lanes outside the tile have none.
Words words_of_rows(const PackedArgs& a, const Entries& entries, int across, int units) {
  Words words;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const PackedStep at = packed_step(a.store, 0, lane);
    const std::int32_t unit = at.word * units, row = at.line * across;
    if (unit < a.run_units && row < a.rows) words.push_back(lane, unit, entries.row[static_cast<std::size_t>(row)]);
  }
  return words;
}

/// The cheapest of the ways tried.
struct Way {
  double cost = 1e300;
  PackedLattice store;
  PackedRotation rotation;
  std::int32_t shift = kNoSwizzle;
};

/// Tries the rotations and swizzles of one lattice, whose first warp collects `warp`.
void try_lattice(const PackedLattice& store, const Words& warp, const Entries& entries, std::int32_t run_units,
                 const Collect& collect, const CollectCosts& costs, double waste, Seen& seen, Way& best) {
  for (const PackedRotation rotation : {kNoRotation, PackedRotation{1, 3}, PackedRotation{1, 2}}) {
    if (rotation != kNoRotation && collect.steps == 1) break;
    int enough = costs.most(best.cost, kNoSwizzle, rotation, waste);
    if (enough < 2) break;
    const Lanes first = collect.lanes(warp, entries, run_units, rotation, 0, 0);
    const Swizzled at_first(first, seen);
    if (at_first.least() >= enough) continue;
    const Lanes second = collect.lanes(warp, entries, run_units, rotation, collect.steps / 2, collect.each - 1);
    const Swizzled at_second(second, seen);
    const std::uint32_t varying = first.varying() | second.varying();
    for (const std::int32_t shift : {kNoSwizzle, 3, 4, 5, 6, 7, 8, 9}) {
      if (shift != kNoSwizzle && (varying >> shift & 0x70u) == 0) continue;  // the same for all lanes
      while (enough >= 2 && costs.of(enough, shift, rotation, waste) >= best.cost) --enough;
      if (enough < at_first.least() + at_second.least()) break;
      int met = at_first.cycles(shift, enough - 1);
      if (met >= enough) continue;
      met += at_second.cycles(shift, enough - met);
      if (met > enough) continue;
      enough = met - 1;
      best = {costs.of(met, shift, rotation, waste), store, rotation, shift};
    }
  }
}

}  // namespace

void spread(const Canonical& c, PackedArgs& a, std::int64_t words) {
  const Collect collect(c.dst_unit);
  const bool transposed = a.kind == PackedKind::kTransposed;
  const int across = transposed ? 4 / c.dst_unit : 1;
  const std::int64_t lines = ceil_div(a.rows, across);
  CollectCosts costs{transposed ? kLaneCosts.transposed_accesses : collect.units};
  if (a.kind == PackedKind::kFixed) costs.swizzle = kLaneCosts.swizzle * costs.accesses;
  // Loose rows look their places up for every word.
  if (a.kind == PackedKind::kLoose && packed_pads(c.dst_unit)) costs.look_up = kLaneCosts.look_up * costs.accesses;
  // The others do so once for all lines that a lane has.
  const double once = a.kind == PackedKind::kLoose ? 0 : kLaneCosts.look_up * collect.units;
  const int warp_lines = 31 / static_cast<int>(std::clamp<std::int64_t>(words, 1, 8)) + 1;  // in the narrowest lattice
  // The cheapest of the sorted is found first: it leaves little to be tried here. Where both cost the same, it loses.
  Entries entries;
  const SortedWay sorted = costs.look_up > 0 && !c.cast ? best_sorted(c, a, words, entries) : SortedWay{};
  Way best;
  best.cost = std::nextafter(sorted.cost, 1e300);
  bool placed = false;
  Seen seen;
  Across sizes(words);
  // Where a warp has one line's words, its lanes meet alike in all lattices, so the one with the fewest steps is best.
  std::int64_t side_by_side = sizes.best(lines, 32, once / costs.of(2, kNoSwizzle, kNoRotation, 1));
  for (side_by_side = side_by_side != 0 ? side_by_side : sizes.next(); side_by_side != 0; side_by_side = sizes.next()) {
    const auto threads = static_cast<double>(kPackedThreads * steps_of(words, lines, side_by_side));
    const double waste = threads / (static_cast<double>(words) * static_cast<double>(lines));
    if (once > 0) costs.look_up = once / static_cast<double>(ceil_div(lines, kPackedThreads / side_by_side));
    if (costs.most(best.cost, kNoSwizzle, kNoRotation, waste) < 2) continue;
    a.store = lattice(words, lines, side_by_side);
    if (!placed) {
      entries.place(a, kNoPad, 32 * collect.units);
      entries.place_rows(a, warp_lines * across);
      placed = true;
    }
    try_lattice(a.store, words_of_rows(a, entries, across, collect.units), entries, a.run_units, collect, costs, waste,
                seen, best);
  }
  if (sorted.start_step != 0 && sorted.cost < best.cost) return set_sorted(a, sorted);
  a.store = best.store;
  a.rotation = best.rotation;
  a.swizzle_shift = best.shift;
  if (a.kind == PackedKind::kFixed && (a.rotation != kNoRotation || a.swizzle_shift != kNoSwizzle))
    a.kind = PackedKind::kSpread;
}

}  // namespace restride::cuda::packed
