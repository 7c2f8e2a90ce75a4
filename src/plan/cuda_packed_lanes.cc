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

}  // namespace

void spread(const Canonical& c, PackedArgs& a, std::int64_t words) {
  const Collect collect(c.dst_unit);
  const int units = collect.units, steps = collect.steps;
  const bool block = a.kind == PackedKind::kBlock;
  const int across = block ? 4 / c.dst_unit : 1;
  const std::int64_t lines = ceil_div(a.rows, across);
  const double accesses = block ? 4 : units;  // a word of dst
  const double swizzle_cost = a.kind == PackedKind::kFixed ? 0.5 * accesses : 0.0;
  // Loose rows look their places up for every word.
  const double look_up_cost = a.kind == PackedKind::kLoose && maps::packed_pads(c.dst_unit) ? 1.25 * accesses : 0.0;
  const int warp_lines = 31 / static_cast<int>(std::clamp<std::int64_t>(words, 1, 8)) + 1;  // in the narrowest lattice
  maps::PackedLattice best_store;
  maps::PackedTurn best_turn;
  std::int32_t best_shift = maps::kNoSwizzle;
  // The cheapest of the sorted is found first: it leaves little to be tried here. Where both cost the same, it loses.
  const SortedWay sorted = look_up_cost > 0 && !c.cast ? best_sorted(c, a, words) : SortedWay{};
  double best_cost = std::nextafter(sorted.cost, 1e300);
  std::optional<Entries> entries;  // made when first wanted
  Across sizes(words);
  // Where a warp has one line's words, its lanes meet alike in all lattices, so the one with the fewest steps is best.
  std::int64_t side_by_side = sizes.best(lines, 32);
  for (side_by_side = side_by_side != 0 ? side_by_side : sizes.next(); side_by_side != 0; side_by_side = sizes.next()) {
    const auto threads = static_cast<double>(maps::kPackedThreads * steps_of(words, lines, side_by_side));
    const double waste = threads / (static_cast<double>(words) * static_cast<double>(lines));
    // The most cycles that two accesses may take together if that is to beat the best. Turns and swizzles, which cost
    // something themselves, only make it less.
    int most = static_cast<int>(std::min(64.0, (best_cost / waste - 8.0) / (accesses * 0.5) + 1.0));
    if (most < 2) continue;
    a.store = lattice(words, lines, side_by_side);
    if (!entries) entries.emplace(a, 32 * units, warp_lines * across);
    const Words warp = words_of_rows(a, *entries, across, units);
    for (const maps::PackedTurn turn : {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}}) {
      if (turn != kNoTurn && steps == 1) break;
      const auto cost_of = [&](int met, std::int32_t shift) {
        return (accesses * 0.5 * met + 8.0 + look_up_cost + (shift != maps::kNoSwizzle ? swizzle_cost : 0.0) +
                (turn != kNoTurn ? kTurnCost : 0.0)) *
               waste;
      };
      while (most >= 2 && cost_of(most, maps::kNoSwizzle) >= best_cost) --most;
      if (most < 2) break;
      const Lanes first = collect.lanes(warp, *entries, a.run_units, turn, 0, 0);
      const Lanes second = collect.lanes(warp, *entries, a.run_units, turn, steps / 2, units / steps - 1);
      const std::uint32_t varying = first.varying() | second.varying();
      int enough = most;
      for (const std::int32_t shift : {maps::kNoSwizzle, 3, 4, 5, 6, 7, 8, 9}) {
        if (shift != maps::kNoSwizzle && (varying >> shift & 0x70u) == 0) continue;  // the same for all lanes
        while (enough >= 2 && cost_of(enough, shift) >= best_cost) --enough;
        if (enough < 2) break;
        int met = cycles(first, shift, enough - 1);
        if (met >= enough) continue;
        met += cycles(second, shift, enough - met);
        if (met > enough) continue;
        enough = met - 1;
        best_cost = cost_of(met, shift);
        best_store = a.store;
        best_turn = turn;
        best_shift = shift;
      }
    }
  }
  if (sorted.start_step != 0 && sorted.cost < best_cost) return set_sorted(a, sorted);
  a.store = best_store;
  a.turn = best_turn;
  a.swizzle_shift = best_shift;
  if (a.kind == PackedKind::kFixed && (a.turn != kNoTurn || a.swizzle_shift != maps::kNoSwizzle))
    a.kind = PackedKind::kSpread;
}

}  // namespace restride::plan::packed
