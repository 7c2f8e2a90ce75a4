// Which thread of packed's CUDA kernels moves which words, so that accesses are wide and shared memory's banks even.
#include <algorithm>
#include <array>

#include "src/base/checked.h"
#include "src/plan/cuda_packed.h"
#include "src/plan/cuda_packed_lattice.h"

namespace restride::plan::packed {

using layout::Canonical;
using maps::PackedArgs;
using maps::PackedKind;

namespace {

constexpr double kTurnCost = 2.5;  // cycles
constexpr maps::PackedTurn kNoTurn{};

/// Calls visit(n, sum) for the first `count` index tuples of a group, in their order.
template <class Visit>
void for_each_sum(const maps::PackedModes& modes, int count, Visit visit) {
  std::array<std::uint32_t, maps::kMaxPackedModes> digits{};
  maps::PackedSum sum;
  const auto step = [&](std::size_t m, std::int64_t times) {
    // Steps past the last index may leave 63 bits on their way back.
    const std::uint64_t src = static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(modes.src_stride[m]);
    sum.piece += static_cast<std::int32_t>(times) * static_cast<std::int32_t>(modes.piece_step[m]);
    if (modes.piece_step[m] != 0)
      sum.piece_src = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.piece_src) + src);
    else
      sum.inside += static_cast<std::int32_t>(src);
  };
  for (int n = 0; n < count; ++n) {
    visit(static_cast<std::size_t>(n), sum);
    for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) {
      step(m, 1);
      if (++digits[m] < modes.extent[m].divisor) break;
      step(m, -static_cast<std::int64_t>(digits[m]));
      digits[m] = 0;
    }
  }
}

/// The entries of the run table and the row table that one warp looks up: made once, for every lattice that is tried.
struct Entries {
  // Units of 32 words and what they reach beyond a run; rows. Only what is looked up is filled.
  static constexpr int kRun = 32 * 16 + 16, kRows = 32 * 4;
  std::array<std::uint32_t, kRun> run;
  std::array<std::uint32_t, kRows> row;

  Entries(const PackedArgs& a, int run_entries, int row_entries) {
    for_each_sum(a.run_modes, std::min(run_entries, a.run_units), [&](std::size_t p, const maps::PackedSum& sum) {
      run[p] =
          static_cast<std::uint32_t>(maps::packed_piece_base(a, sum.piece, sum.piece_src) + sum.inside + a.run_inside);
    });
    if (a.kind == PackedKind::kFlat)  // flat runs go on into the next ones
      for (int p = a.run_units; p < run_entries; ++p)
        run[static_cast<std::size_t>(p)] =
            run[static_cast<std::size_t>(p - a.run_units)] + static_cast<std::uint32_t>(a.flat_step);
    for_each_sum(a.row_modes, std::min(row_entries, a.rows),
                 [&](std::size_t r, const maps::PackedSum& sum) { row[r] = static_cast<std::uint32_t>(sum.inside); });
  }
};

/// The words of dst that the first warp's lanes collect: where each starts in a run, and what its row adds.
struct Words {
  struct Word {
    int lane = 0;
    std::int32_t unit = 0;
    std::uint32_t row = 0;
  };
  std::array<Word, 32> at;
  int count = 0;
  void push_back(const Word& word) { at[static_cast<std::size_t>(count++)] = word; }
};

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

/// Of flat runs, where they follow each other.
Words words_of_flat(const PackedArgs& a, int units) {
  Words words;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t unit = lane * static_cast<std::uint32_t>(units), run = a.flat_run.quotient(unit);
    words.push_back({static_cast<int>(lane), static_cast<std::int32_t>(unit - run * a.flat_run.divisor),
                     run * static_cast<std::uint32_t>(a.flat_step)});
  }
  return words;
}

/// Where the lanes of a warp find a unit: shared-memory addresses at one step of collecting their words.
struct Lanes {
  std::array<std::uint32_t, 32> at;
  int count = 0;
  void push_back(std::uint32_t address) { at[static_cast<std::size_t>(count++)] = address; }
  /// Address bits in which lanes differ.
  std::uint32_t varying() const {
    std::uint32_t bits = 0;
    for (int lane = 1; lane < count; ++lane) bits |= at[static_cast<std::size_t>(lane)] ^ at[0];
    return bits;
  }
};

/// Cycles one such access takes: lanes that want different words of one bank wait for each other. Past `most`, any
/// larger number.
int cycles(const Lanes& lanes, std::int32_t shift, int most) {
  std::array<std::uint32_t, 32> word_of;
  word_of.fill(~0u);  // no lane's
  std::array<std::uint8_t, 32> words{};
  int worst = 1;
  for (int lane = 0; lane < lanes.count && worst <= most;)
    for (const int end = std::min(lane + 8, lanes.count); lane < end; ++lane) {
      const std::uint32_t word = maps::packed_swizzle(lanes.at[static_cast<std::size_t>(lane)], shift) / 4;
      const std::size_t bank = word & 31;
      const int met = words[bank] + (word_of[bank] != word ? 1 : 0);
      word_of[bank] = word;
      words[bank] = static_cast<std::uint8_t>(met);
      worst = std::max(worst, met);
    }
  return worst;
}

/// How lanes collect the units of a word: `steps` turns of units / steps each.
struct Collect {
  int units, steps;

  /// Addresses at step `step`, sub-unit `part`. Runs end at `run_units`.
  Lanes lanes(const Words& words, const Entries& entries, std::int32_t run_units, const maps::PackedTurn& turn,
              int step, int part) const {
    Lanes out;
    for (int i = 0; i < words.count; ++i) {
      const Words::Word& word = words.at[static_cast<std::size_t>(i)];
      const std::int32_t unit = word.unit + maps::packed_turn(word.lane, step, steps, turn) * (units / steps) + part;
      if (unit < run_units) out.push_back(word.row + entries.run[static_cast<std::size_t>(unit)]);
    }
    return out;
  }

  /// Places in a run table at one look-up, for runs that lie one after the other: 8 bytes every 32 of units of 1.
  Lanes look_ups(const maps::PackedTurn& turn) const {
    Lanes out;
    for (int lane = 0; lane < 16; ++lane)
      out.push_back(
          static_cast<std::uint32_t>((lane * units + maps::packed_turn(lane, 0, steps, turn) * (units / steps)) * 2));
    return out;
  }
};

/// The turn for flat runs: lanes collect words that follow each other, wherever their units lie.
void spread_flat(PackedArgs& a, const Collect& collect) {
  const int units = collect.units, steps = collect.steps;
  const int run_entries = std::min(Entries::kRun, a.run_units + 16);
  const Entries entries(a, run_entries, 0);
  const Words words = words_of_flat(a, units);
  maps::PackedTurn best;
  double best_cost = 1e9;
  for (const maps::PackedTurn turn :
       {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}, maps::PackedTurn{3, 4}, maps::PackedTurn{1, 0}}) {
    if (turn != kNoTurn && steps == 1) break;
    const int looked = cycles(collect.look_ups(turn), maps::kNoSwizzle, 32);
    const auto cost_of = [&](int met) {
      return units * met / 3.0 + (turn != kNoTurn ? kTurnCost : 0.0) + 2.0 * steps * looked;
    };
    int met = 3;  // at least one cycle each
    for (const int step : {0, steps / 2, steps - 1}) {
      if (cost_of(met) >= best_cost) break;
      const int part = step % (units / steps);
      met += cycles(collect.lanes(words, entries, run_entries, turn, step, part), maps::kNoSwizzle, 32) - 1;
    }
    if (cost_of(met) >= best_cost) continue;
    best_cost = cost_of(met);
    best = turn;
  }
  a.turn = best;
}

}  // namespace

void spread(const Canonical& c, PackedArgs& a, std::int64_t words) {
  const Collect collect{16 / c.dst_unit, c.dst_unit <= 4 ? 4 : 16 / c.dst_unit};
  if (a.kind == PackedKind::kFlat) return spread_flat(a, collect);
  const int units = collect.units, steps = collect.steps;
  const bool block = a.kind == PackedKind::kBlock;
  const int across = block ? 4 / c.dst_unit : 1;
  const std::int64_t lines = ceil_div(a.rows, across);
  const double accesses = block ? 4 : units;  // a word of dst
  const double swizzle_cost = a.kind == PackedKind::kFixed ? 0.5 * accesses : 0.0;
  const int warp_lines = 31 / static_cast<int>(std::clamp<std::int64_t>(words, 1, 8)) + 1;  // in the narrowest lattice
  const Entries entries(a, 32 * units, warp_lines * across);
  maps::PackedLattice best_store;
  maps::PackedTurn best_turn;
  std::int32_t best_shift = maps::kNoSwizzle;
  double best_cost = 1e9;
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
    const Words warp = words_of_rows(a, entries, across, units);
    for (const maps::PackedTurn turn : {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}}) {
      if (turn != kNoTurn && steps == 1) break;
      const auto cost_of = [&](int met, std::int32_t shift) {
        return (accesses * 0.5 * met + 8.0 + (shift != maps::kNoSwizzle ? swizzle_cost : 0.0) +
                (turn != kNoTurn ? kTurnCost : 0.0)) *
               waste;
      };
      while (most >= 2 && cost_of(most, maps::kNoSwizzle) >= best_cost) --most;
      if (most < 2) break;
      const Lanes first = collect.lanes(warp, entries, a.run_units, turn, 0, 0);
      const Lanes second = collect.lanes(warp, entries, a.run_units, turn, steps / 2, units / steps - 1);
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
  a.store = best_store;
  a.turn = best_turn;
  a.swizzle_shift = best_shift;
  if (a.kind == PackedKind::kFixed && (a.turn != kNoTurn || a.swizzle_shift != maps::kNoSwizzle))
    a.kind = PackedKind::kSpread;
}

}  // namespace restride::plan::packed
