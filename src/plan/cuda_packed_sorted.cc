// Packed's loose runs of small units on CUDA, sorted by where they start: a lane then looks its places up once for all
// its rows.
#include "src/plan/cuda_packed_banks.h"
#include "src/plan/cuda_packed_lattice.h"

namespace restride::plan::packed {

namespace {

/// The rows of a loose tile as its kernel sorts them, by where they start in a word of dst.
struct Sorted {
  static constexpr int kMost = 1024;  // of more rows none are sorted
  struct Row {
    std::uint16_t start = 0;  // byte of a word
    std::uint32_t inside = 0;
  };
  std::array<Row, kMost> row;
  std::array<std::uint16_t, kMost> order;
  std::array<int, 17> first{};  // in `order`, of those that start at a byte
  int step = 0, most = 0;       // where rows may start, in bytes; rows that start alike

  explicit Sorted(const PackedArgs& a) {
    if (a.rows > kMost) return;
    std::int64_t bits = 16;
    for (int m = 0; m < a.row_modes.rank; ++m) bits |= a.row_modes.dst_stride[m];
    step = static_cast<int>(bits & -bits);
    std::array<int, 16> at{};
    for_each_sum(a.row_modes, a.rows, [&](std::size_t r, const maps::PackedSum& sum) {
      row[r] = {static_cast<std::uint16_t>(sum.dst & 15), static_cast<std::uint32_t>(sum.inside)};
      ++at[row[r].start];
    });
    most = *std::max_element(at.begin(), at.end());
    for (std::size_t i = 0; i < at.size(); ++i) {
      first[i + 1] = first[i] + at[i];
      at[i] = first[i];
    }
    for (int r = 0; r < a.rows; ++r)
      order[static_cast<std::size_t>(at[row[static_cast<std::size_t>(r)].start]++)] = static_cast<std::uint16_t>(r);
  }

  /// Makes a.store the lattice of `across` words side by side whose lines are dealt to the starts, and sets a.threads;
  /// false when there are more starts than lines, too few rows, or no room for the table.
  bool deal(PackedArgs& a, std::int64_t words, std::int64_t across) const {
    const std::int64_t turns = step == 0 ? 0 : maps::kPackedThreads / across / (16 / step);
    if (turns == 0 || a.rows <= maps::kPackedThreads / across) return false;
    const std::int64_t lines = turns * (16 / step), blocks = ceil_div(most, turns);
    if (across * lines <= maps::kPackedThreads * 5 / 8) return false;
    if (a.shared_bytes + (lines * blocks - a.rows) * 16 > kMostShared) return false;
    a.threads = static_cast<std::int32_t>(ceil_div(across * lines, 32) * 32);
    a.store.across = base::FastDiv(across);
    a.store.lines = static_cast<std::int32_t>(lines);
    a.store.blocks = base::FastDiv(blocks);
    a.store.steps = static_cast<std::int32_t>(ceil_div(words, across) * blocks);
    a.start_step = step;
    return true;
  }

  /// The words of dst that the first warp's lanes collect.
  Words words(const PackedArgs& a, int units) const {
    Words out;
    const int starts = 16 / step, blocks = static_cast<int>(a.store.blocks.divisor);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const maps::PackedStep at = maps::packed_step(a.store, 0, lane);
      if (at.line >= a.store.lines) continue;
      const auto start = static_cast<std::size_t>(at.line % starts) * static_cast<std::size_t>(step);
      const int number = first[start] + at.line / starts * blocks;
      if (number >= first[start + 1]) continue;
      const Row& r = row[order[static_cast<std::size_t>(number)]];
      out.push_back({static_cast<int>(lane), at.word * units - r.start * units / 16, r.inside});
    }
    return out;
  }
};

}  // namespace

double spread_sorted(const layout::Canonical& c, PackedArgs& a, std::int64_t words, double least) {
  const Collect collect(c.dst_unit);
  const int units = collect.units, steps = collect.steps;
  const Sorted sorted(a);
  PackedArgs best = a;
  double best_cost = least;
  a.kind = PackedKind::kSorted;
  for (const std::int32_t pad : pads_of(a, units)) {
    a.pad_shift = pad;
    const Entries entries(a, 32 * units, 0);
    Across sizes(words);
    while (const std::int64_t across = sizes.next()) {
      if (!sorted.deal(a, words, across)) continue;
      const double waste =
          static_cast<double>(a.threads) * a.store.steps / (static_cast<double>(words) * static_cast<double>(a.rows));
      const Words warp = sorted.words(a, units);
      for (const maps::PackedTurn turn : {kNoTurn, maps::PackedTurn{1, 3}, maps::PackedTurn{1, 2}}) {
        const auto cost_of = [&](int met) {
          return (units * 0.5 * met + 8.0 + (turn != kNoTurn ? kTurnCost : 0.0)) * waste;
        };
        if (cost_of(2) >= best_cost) break;
        int met = cycles(collect.lanes(warp, entries, a.run_units, turn, 0, 0), maps::kNoSwizzle, 32);
        met +=
            cycles(collect.lanes(warp, entries, a.run_units, turn, steps / 2, units / steps - 1), maps::kNoSwizzle, 32);
        if (cost_of(met) >= best_cost) continue;
        best_cost = cost_of(met);
        best = a;
        best.turn = turn;
      }
    }
  }
  a = best;
  return best_cost;
}

}  // namespace restride::plan::packed
