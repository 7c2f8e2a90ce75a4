// Packed's flat runs on CUDA: how threads lie over them, and how lanes stay out of each other's banks.
#include <numeric>

#include "src/cuda/packed/banks.h"

namespace restride::cuda::packed {

namespace {

/// Of flat runs, where they follow each other.
Words words_of_flat(const PackedArgs& a, int units) {
  Words words;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t unit = lane * static_cast<std::uint32_t>(units), run = a.flat_run.quotient(unit);
    words.push_back(lane, static_cast<std::int32_t>(unit - run * a.flat_run.divisor),
                    run * static_cast<std::uint32_t>(a.flat_step));
  }
  return words;
}

}  // namespace

void lay_cycles(const layout::Canonical& c, PackedArgs& a) {
  const std::int64_t run_bytes = std::int64_t{a.run_units} * c.dst_unit, whole = std::gcd(run_bytes, std::int64_t{16});
  a.cycles.runs = static_cast<std::int32_t>(16 / whole);
  const std::int64_t words = run_bytes / whole, cycles = ceil_div(a.rows, a.cycles.runs);
  a.cycles.words = base::FastDiv(words);
  a.cycles.together = static_cast<std::int32_t>(cycles);
  if (c.cast) return;  // converting costs more than looking places up
  const double look_up = c.dst_unit == 1 ? kLaneCosts.flat_look_up_bytes : kLaneCosts.flat_look_up;
  double least = 1e300;
  for (std::int64_t threads = kPackedThreads; threads >= kPackedThreads / 2; threads -= 32) {
    // Fewer threads keep fewer loads of a large tile under way.
    const double lost = a.tile_bytes < kSizes.staged_flat_small_tile_bytes
                            ? 0.0
                            : kLaneCosts.flat_fewer_threads * static_cast<double>(kPackedThreads - threads) / 32;
    const double each = static_cast<double>(threads) * (1 + lost);
    for (std::int64_t most = 1; most <= kSizes.staged_flat_steps; ++most) {
      const std::int64_t together = std::min(threads * most / words, cycles);
      if (together == 0) continue;
      const std::int64_t steps =
          ceil_div(std::min(words * together, ceil_div(std::int64_t{a.rows} * run_bytes, 16)), threads);
      const double cost =
          each * static_cast<double>(steps) * (look_up + static_cast<double>(ceil_div(cycles, together)));
      if (cost < least) {
        least = cost;
        a.threads = static_cast<std::int32_t>(threads);
        a.cycles.together = static_cast<std::int32_t>(together);
      }
      if (together == cycles) break;
    }
  }
}

void spread_flat(const layout::Canonical& c, PackedArgs& a) {
  const Collect collect(c.dst_unit);
  const int units = collect.units, steps = collect.steps;
  const int run_entries = std::min(static_cast<int>(Entries::kRun), a.run_units + 16);
  const Words words = words_of_flat(a, units);
  constexpr std::array kRotations = {kNoRotation, PackedRotation{1, 3}, PackedRotation{1, 2}, PackedRotation{3, 4},
                                     PackedRotation{1, 0}};
  const std::size_t rotations = steps == 1 ? 1 : kRotations.size();
  std::array<double, kRotations.size()> fixed;  // what they cost beside the banks in which lanes meet
  for (std::size_t r = 0; r < rotations; ++r)
    fixed[r] =
        (r != 0 ? kLaneCosts.rotate : 0.0) + 1.0 * steps * cycles(collect.look_ups(kRotations[r]), kNoSwizzle, 32);
  PackedRotation best;
  std::int32_t best_pad = kNoPad;
  double best_cost = 1e9;
  Entries entries;
  for (const std::int32_t pad : pads_of(a, units)) {
    entries.place(a, pad, run_entries);
    for (std::size_t r = 0; r < rotations; ++r) {
      const auto cost_of = [&](int met) { return units * met / kLaneCosts.flat_access + fixed[r]; };
      int met = 3;  // at least one cycle each
      for (const int step : {0, steps / 2, steps - 1}) {
        if (cost_of(met) >= best_cost) break;
        const int part = step % collect.each;
        met += cycles(collect.lanes(words, entries, run_entries, kRotations[r], step, part), kNoSwizzle, 32) - 1;
      }
      if (cost_of(met) >= best_cost) continue;
      best_cost = cost_of(met);
      best = kRotations[r];
      best_pad = pad;
    }
  }
  a.rotation = best;
  a.pad_shift = best_pad;
}

}  // namespace restride::cuda::packed
