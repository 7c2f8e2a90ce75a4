// Which thread of packed's CUDA kernels moves which words, so that accesses are wide and shared memory's banks even.
#include <cmath>
#include <optional>

#include "src/plan/cuda_packed_banks.h"
#include "src/plan/cuda_packed_lattice.h"

namespace restride::plan::packed {

using layout::Canonical;

namespace {

/// Of rows, by the lattice a.store; lanes outside the tile have none.
Words words_of_rows(const PackedArgs& a, const Entries& entries, int across, int units) {
  Words words;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const maps::PackedStep at = maps::packed_step(a.store, 0, lane);
    const std::int32_t unit = at.word * units, row = at.line * across;
    if (unit < a.run_units && row < a.rows)
      words.push_back({static_cast<int>(lane), unit, entries.row[static_cast<std::size_t>(row)]});
  }
  return words;
}

/// What a word of dst costs besides the banks in which its lanes meet, in cycles.
struct Costs {
  double accesses = 0;  // to shared memory
  double swizzle = 0, look_up = 0;

  /// Where two accesses take `met` cycles together, by threads that have `waste` times the steps their words need.
  double of(int met, std::int32_t shift, const maps::PackedTurn& turn, double waste) const {
    return (accesses * 0.5 * met + 8.0 + look_up + (shift != maps::kNoSwizzle ? swizzle : 0.0) +
            (turn != kNoTurn ? kTurnCost : 0.0)) *
           waste;
  }
  /// The most cycles that they may take together for less than `best`. Turns and swizzles, which cost something
  /// themselves, only make it less.
  int most(double best, double waste) const {
    return static_cast<int>(std::min(64.0, (best / waste - 8.0) / (accesses * 0.5) + 1.0));
  }
};

/// The cheapest of the ways tried.
struct Way {
  double cost = 1e300;
  maps::PackedLattice store;
  maps::PackedTurn turn;
  std::int32_t shift = maps::kNoSwizzle;
};

/// Tries the turns and swizzles of one lattice, whose first warp collects `warp`.
void try_lattice(const maps::PackedLattice& store, const Words& warp, const Entries& entries, std::int32_t run_units,
                 const Collect& collect, const Costs& costs, double waste, Way& best) {
  int most = costs.most(best.cost, waste);
  for (const maps::PackedTurn turn : {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}}) {
    if (turn != kNoTurn && collect.steps == 1) break;
    while (most >= 2 && costs.of(most, maps::kNoSwizzle, turn, waste) >= best.cost) --most;
    if (most < 2) break;
    const Lanes first = collect.lanes(warp, entries, run_units, turn, 0, 0);
    const Lanes second =
        collect.lanes(warp, entries, run_units, turn, collect.steps / 2, collect.units / collect.steps - 1);
    const std::uint32_t varying = first.varying() | second.varying();
    int enough = most;
    for (const std::int32_t shift : {maps::kNoSwizzle, 3, 4, 5, 6, 7, 8, 9}) {
      if (shift != maps::kNoSwizzle && (varying >> shift & 0x70u) == 0) continue;  // the same for all lanes
      while (enough >= 2 && costs.of(enough, shift, turn, waste) >= best.cost) --enough;
      if (enough < 2) break;
      int met = cycles(first, shift, enough - 1);
      if (met >= enough) continue;
      met += cycles(second, shift, enough - met);
      if (met > enough) continue;
      enough = met - 1;
      best = {costs.of(met, shift, turn, waste), store, turn, shift};
    }
  }
}

}  // namespace

void spread(const Canonical& c, PackedArgs& a, std::int64_t words) {
  const Collect collect(c.dst_unit);
  const bool block = a.kind == PackedKind::kBlock;
  const int across = block ? 4 / c.dst_unit : 1;
  const std::int64_t lines = ceil_div(a.rows, across);
  Costs costs{block ? 4.0 : collect.units};
  if (a.kind == PackedKind::kFixed) costs.swizzle = 0.5 * costs.accesses;
  // Loose rows look their places up for every word.
  if (a.kind == PackedKind::kLoose && maps::packed_pads(c.dst_unit)) costs.look_up = 1.25 * costs.accesses;
  const int warp_lines = 31 / static_cast<int>(std::clamp<std::int64_t>(words, 1, 8)) + 1;  // in the narrowest lattice
  // The cheapest of the sorted is found first: it leaves little to be tried here. Where both cost the same, it loses.
  const SortedWay sorted = costs.look_up > 0 && !c.cast ? best_sorted(c, a, words) : SortedWay{};
  Way best;
  best.cost = std::nextafter(sorted.cost, 1e300);
  std::optional<Entries> entries;  // made when first wanted
  Across sizes(words);
  // Where a warp has one line's words, its lanes meet alike in all lattices, so the one with the fewest steps is best.
  std::int64_t side_by_side = sizes.best(lines, 32);
  for (side_by_side = side_by_side != 0 ? side_by_side : sizes.next(); side_by_side != 0; side_by_side = sizes.next()) {
    const auto threads = static_cast<double>(maps::kPackedThreads * steps_of(words, lines, side_by_side));
    const double waste = threads / (static_cast<double>(words) * static_cast<double>(lines));
    if (costs.most(best.cost, waste) < 2) continue;
    a.store = lattice(words, lines, side_by_side);
    if (!entries) entries.emplace(a, 32 * collect.units, warp_lines * across);
    try_lattice(a.store, words_of_rows(a, *entries, across, collect.units), *entries, a.run_units, collect, costs,
                waste, best);
  }
  if (sorted.start_step != 0 && sorted.cost < best.cost) return set_sorted(a, sorted);
  a.store = best.store;
  a.turn = best.turn;
  a.swizzle_shift = best.shift;
  if (a.kind == PackedKind::kFixed && (a.turn != kNoTurn || a.swizzle_shift != maps::kNoSwizzle))
    a.kind = PackedKind::kSpread;
}

}  // namespace restride::plan::packed
