// How the lanes of a warp meet in shared memory's banks while they collect words of dst: what packed's planning on CUDA
// simulates to choose lattices, turns, paddings and swizzles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/checked.h"
#include "src/plan/cuda_packed.h"

namespace restride::plan::packed {

using maps::PackedArgs;
using maps::PackedKind;

inline constexpr double kTurnCost = 2.5;  // cycles
inline constexpr maps::PackedTurn kNoTurn{};

/// Calls visit(n, sum) for the first `count` index tuples of a group, in their order.
template <class Visit>
void for_each_sum(const maps::PackedModes& modes, int count, Visit visit) {
  std::array<std::uint32_t, maps::kMaxPackedModes> digits{};
  maps::PackedSum sum;
  const auto step = [&](std::size_t m, std::int64_t times) {
    // Steps past the last index may leave 63 bits on their way back.
    sum.dst =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.dst) +
                                  static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(modes.dst_stride[m]));
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
inline int cycles(const Lanes& lanes, std::int32_t shift, int most) {
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
  explicit Collect(int dst_unit) : units(16 / dst_unit), steps(dst_unit <= 4 ? 4 : 16 / dst_unit) {}

  /// Addresses at step `step`, sub-unit `part`. Runs end at `run_units`.
  Lanes lanes(const Words& words, const Entries& entries, std::int32_t run_units, const maps::PackedTurn& turn,
              int step, int part) const {
    Lanes out;
    for (int i = 0; i < words.count; ++i) {
      const Words::Word& word = words.at[static_cast<std::size_t>(i)];
      const std::int32_t unit = word.unit + maps::packed_turn(word.lane, step, steps, turn) * (units / steps) + part;
      if (unit >= 0 && unit < run_units) out.push_back(word.row + entries.run[static_cast<std::size_t>(unit)]);
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

/// Paddings to choose from: none, and a word after the pieces of every word of dst.
inline detail::FixedVector<std::int32_t, 2> pads_of(const PackedArgs& a, int units) {
  detail::FixedVector<std::int32_t, 2> pads;
  pads.push_back(maps::kNoPad);
  if (maps::packed_pads(16 / units) && a.pieces > units) pads.push_back(std::countr_zero(static_cast<unsigned>(units)));
  return pads;
}

}  // namespace restride::plan::packed
