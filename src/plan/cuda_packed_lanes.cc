// Which thread of packed's CUDA kernels moves which words, so that accesses are wide and shared memory's banks even.
#include <algorithm>
#include <array>

#include "src/base/checked.h"
#include "src/plan/cuda_packed.h"

namespace restride::plan::packed {

using layout::Canonical;
using maps::PackedArgs;
using maps::PackedKind;

namespace {

maps::PackedLattice lattice(std::int64_t words, std::int64_t lines, std::int64_t across) {
  maps::PackedLattice l;
  l.across = base::FastDiv(across);
  l.lines = static_cast<std::int32_t>(maps::kPackedThreads / across);
  const std::int64_t blocks = ceil_div(lines, l.lines);
  l.blocks = base::FastDiv(blocks);
  l.steps = static_cast<std::int32_t>(ceil_div(words, across) * blocks);
  return l;
}

/// Lattices by how many words lie side by side: all of a line, or parts of whole 128 bytes.
struct Across {
  std::int64_t words, groups = 1;
  explicit Across(std::int64_t line_words) : words(line_words) {}
  /// The next narrower one; 0 at the end.
  std::int64_t next() {
    for (; groups <= 64; ++groups) {
      const std::int64_t across = groups == 1 ? words : (ceil_div(words, groups) + 7) / 8 * 8;
      if (across > maps::kPackedThreads || (groups > 1 && ceil_div(words, across) != groups)) continue;
      if (groups > 1 && across >= words) return 0;
      ++groups;
      return across;
    }
    return 0;
  }
};

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
  static constexpr int kRun = 32 * 16 + 16, kRows = 32 * 4;  // units of 32 words and what they reach beyond a run; rows
  std::array<std::uint32_t, kRun> run{};
  std::array<std::uint32_t, kRows> row{};

  explicit Entries(const PackedArgs& a) {
    for_each_sum(a.run_modes, std::min(kRun, a.run_units), [&](std::size_t p, const maps::PackedSum& sum) {
      run[p] =
          static_cast<std::uint32_t>(maps::packed_piece_base(a, sum.piece, sum.piece_src) + sum.inside + a.run_inside);
    });
    if (a.kind == PackedKind::kFlat)  // flat runs go on into the next ones
      for (int p = a.run_units; p < kRun; ++p)
        run[static_cast<std::size_t>(p)] =
            run[static_cast<std::size_t>(p - a.run_units)] + static_cast<std::uint32_t>(a.flat_step);
    for_each_sum(a.row_modes, std::min(kRows, a.rows),
                 [&](std::size_t r, const maps::PackedSum& sum) { row[r] = static_cast<std::uint32_t>(sum.inside); });
  }
};

/// Where the lanes of a warp find a unit: shared-memory addresses at one step of collecting their words.
struct Lanes {
  std::array<std::uint32_t, 32> at{};
  int count = 0;
};

/// Cycles one such access takes: lanes that want different words of one bank wait for each other.
int cycles(const Lanes& lanes, std::int32_t shift) {
  std::array<std::uint32_t, 32> word_of{};
  std::array<std::uint8_t, 32> words{};
  int worst = 1;
  for (int lane = 0; lane < lanes.count; ++lane) {
    const std::uint32_t word = maps::packed_swizzle(lanes.at[static_cast<std::size_t>(lane)], shift) / 4;
    const std::size_t bank = word & 31;
    if (words[bank] != 0 && word_of[bank] == word) continue;
    word_of[bank] = word;
    worst = std::max<int>(worst, ++words[bank]);
  }
  return worst;
}

/// Addresses of the first warp's lanes at step `step`, sub-unit `part` of a word.
Lanes lanes_of(const PackedArgs& a, const Entries& entries, int across, int units, int steps, int step, int part) {
  Lanes lanes;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const int turn = maps::packed_turn(static_cast<int>(lane), step, steps, a.turn);
    const int inside = turn * (units / steps) + part;
    if (a.kind == PackedKind::kFlat) {
      const std::uint32_t unit = lane * static_cast<std::uint32_t>(units), run = a.flat_run.quotient(unit);
      const std::uint32_t place = unit - run * a.flat_run.divisor + static_cast<std::uint32_t>(inside);
      lanes.at[static_cast<std::size_t>(lanes.count++)] =
          run * static_cast<std::uint32_t>(a.flat_step) + entries.run[place];
      continue;
    }
    const maps::PackedStep at = maps::packed_step(a.store, 0, lane);
    const std::int32_t unit = at.word * units + inside, row = at.line * across;
    if (unit >= a.run_units || row >= a.rows) continue;
    lanes.at[static_cast<std::size_t>(lanes.count++)] =
        entries.run[static_cast<std::size_t>(unit)] + entries.row[static_cast<std::size_t>(row)];
  }
  return lanes;
}

/// Lanes' places in a run table at one look-up, for runs that lie one after the other: 8 bytes every 32 of units of 1.
Lanes look_ups(int units, int steps, const maps::PackedTurn& turn) {
  Lanes lanes;
  for (int lane = 0; lane < 16; ++lane) {
    const int unit = lane * units + maps::packed_turn(lane, 0, steps, turn) * (units / steps);
    lanes.at[static_cast<std::size_t>(lanes.count++)] = static_cast<std::uint32_t>(unit * 2);
  }
  return lanes;
}

/// The turn for flat runs: lanes collect words that follow each other, wherever their units lie.
void spread_flat(PackedArgs& a, int units, int steps) {
  const Entries entries(a);
  maps::PackedTurn best;
  double best_cost = 1e9;
  for (const maps::PackedTurn turn :
       {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}, maps::PackedTurn{3, 4}, maps::PackedTurn{1, 0}}) {
    if (turn != kNoTurn && steps == 1) break;
    a.turn = turn;
    int met = 0;
    for (const int step : {0, steps / 2, steps - 1})
      met += cycles(lanes_of(a, entries, 1, units, steps, step, step % (units / steps)), maps::kNoSwizzle);
    const double cost = units * met / 3.0 + (turn != kNoTurn ? kTurnCost : 0.0) +
                        2.0 * steps * cycles(look_ups(units, steps, turn), maps::kNoSwizzle);
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = turn;
  }
  a.turn = best;
}

}  // namespace

maps::PackedLattice load_lattice(std::int64_t words, std::int64_t pieces) {
  maps::PackedLattice best;
  Across sizes(words);
  while (const std::int64_t across = sizes.next()) {
    const maps::PackedLattice l = lattice(words, pieces, across);
    if (best.steps == 0 || l.steps < best.steps) best = l;
  }
  return best;
}

void spread(const Canonical& c, PackedArgs& a, std::int64_t words) {
  const int units = 16 / c.dst_unit;
  const int steps = c.dst_unit <= 4 ? 4 : units;
  if (a.kind == PackedKind::kFlat) return spread_flat(a, units, steps);
  const bool block = a.kind == PackedKind::kBlock;
  const int across = block ? 4 / c.dst_unit : 1;
  const std::int64_t lines = ceil_div(a.rows, across);
  const double accesses = block ? 4 : units;  // a word of dst
  const double swizzle_cost = a.kind == PackedKind::kFixed ? 0.5 * accesses : 0.0;
  const Entries entries(a);
  PackedArgs best = a;
  double best_cost = 1e9;
  Across sizes(words);
  while (const std::int64_t side_by_side = sizes.next()) {
    a.store = lattice(words, lines, side_by_side);
    const double threads = static_cast<double>(maps::kPackedThreads) * a.store.steps;
    const double waste = threads / (static_cast<double>(words) * static_cast<double>(lines));
    if ((accesses + 8.0) * waste < best_cost) {
      for (const maps::PackedTurn turn : {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}}) {
        if (turn != kNoTurn && steps == 1) break;
        a.turn = turn;
        const Lanes first = lanes_of(a, entries, across, units, steps, 0, 0);
        const Lanes second = lanes_of(a, entries, across, units, steps, steps / 2, units / steps - 1);
        for (const std::int32_t shift : {maps::kNoSwizzle, 3, 4, 5, 6, 7, 8, 9}) {
          const auto cost_of = [&](int met) {
            return (accesses * 0.5 * met + 8.0 + (shift != maps::kNoSwizzle ? swizzle_cost : 0.0) +
                    (turn != kNoTurn ? kTurnCost : 0.0)) *
                   waste;
          };
          if (cost_of(2) >= best_cost) continue;
          int met = cycles(first, shift) + 1;
          if (cost_of(met) >= best_cost) continue;
          met += cycles(second, shift) - 1;
          if (const double cost = cost_of(met); cost < best_cost) {
            best_cost = cost;
            a.swizzle_shift = shift;
            best = a;
          }
          if (met == 2) break;
        }
      }
    }
  }
  a = best;
  if (a.kind == PackedKind::kFixed && (a.turn != kNoTurn || a.swizzle_shift != maps::kNoSwizzle))
    a.kind = PackedKind::kSpread;
}

}  // namespace restride::plan::packed
