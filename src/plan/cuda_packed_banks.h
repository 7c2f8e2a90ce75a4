// How the lanes of a warp meet in shared memory's banks while they collect words of dst: what packed's planning on CUDA
// simulates to choose lattices, turns, paddings and swizzles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "src/base/checked.h"
#include "src/plan/cuda_packed.h"

namespace restride::plan::packed {

using maps::PackedArgs;
using maps::PackedKind;

inline constexpr double kTurnCost = 2.5;  // cycles
inline constexpr maps::PackedTurn kNoTurn{};

/// Fills `sums` with what the first index tuples of a group add up to, in their order; step_of(m) is what a step along
/// mode m adds. Sums are modular: T is unsigned.
template <class T, class StepOf>
void fill_sums(const maps::PackedModes& modes, std::span<T> sums, StepOf step_of) {
  if (sums.empty()) return;
  sums[0] = 0;
  std::size_t tuples = 1;  // of the modes so far
  for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) {
    const T step = static_cast<T>(step_of(m));
    const std::size_t end = std::min(sums.size(), tuples * modes.extent[m].divisor);
    for (std::size_t n = tuples; n < end; ++n) sums[n] = sums[n - tuples] + step;
    tuples *= modes.extent[m].divisor;
  }
}

/// The entries of the run table and the row table that one warp looks up: made once, for every lattice that is tried.
struct Entries {
  // Units of 32 words and what they reach beyond a run; rows. Only what is looked up is filled.
  static constexpr std::size_t kRun = 32 * 16 + 16, kRows = 32 * 4;
  std::array<std::uint32_t, kRun> run;
  std::array<std::uint32_t, kRows> row;

  Entries(const PackedArgs& a, int run_entries, int row_entries)
      : runs_(static_cast<std::size_t>(std::min(run_entries, a.run_units))) {
    const maps::PackedModes& modes = a.run_modes;
    fill_sums(modes, std::span(piece_).first(runs_), [&](std::size_t m) { return modes.piece_step[m]; });
    fill_sums(modes, std::span(piece_src_).first(runs_),
              [&](std::size_t m) { return modes.piece_step[m] != 0 ? modes.src_stride[m] : 0; });
    fill_sums(modes, std::span(inside_).first(runs_),
              [&](std::size_t m) { return modes.piece_step[m] != 0 ? 0 : modes.src_stride[m]; });
    if (a.kind == PackedKind::kFlat)  // flat runs go on into the next ones
      for (; runs_ < static_cast<std::size_t>(run_entries); ++runs_) {
        const std::size_t before = runs_ - static_cast<std::size_t>(a.run_units);
        piece_[runs_] = piece_[before];
        piece_src_[runs_] = piece_src_[before];
        inside_[runs_] = inside_[before] + static_cast<std::uint32_t>(a.flat_step);
      }
    place(a);
    fill_sums(a.row_modes, std::span(row).first(static_cast<std::size_t>(std::min(row_entries, a.rows))),
              [&](std::size_t m) { return a.row_modes.src_stride[m]; });
  }

  /// Makes `run` again for another padding of `a`.
  void place(const PackedArgs& a) {
    for (std::size_t p = 0; p < runs_; ++p)
      run[p] = static_cast<std::uint32_t>(
                   maps::packed_piece_base(a, static_cast<std::int32_t>(piece_[p]), piece_src_[p]) + a.run_inside) +
               inside_[p];
  }

 private:
  std::size_t runs_;
  std::array<std::uint32_t, kRun> piece_, piece_src_, inside_;
};

/// The words of dst that the first warp's lanes collect: where each starts in a run, and what its row adds.
struct Words {
  struct Word {
    int lane;
    std::int32_t unit;
    std::uint32_t row;
  };
  std::array<Word, 32> at;  // of which `count` are set
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
  constexpr std::uint32_t kNoWord = ~0u << 8;
  std::array<std::uint32_t, 32> banks;  // the word a bank gave last, and in the low byte how many it gave
  banks.fill(kNoWord);
  std::uint32_t worst = 1;
  for (int lane = 0; lane < lanes.count && worst <= static_cast<std::uint32_t>(most);)
    for (const int end = std::min(lane + 8, lanes.count); lane < end; ++lane) {
      const std::uint32_t word = maps::packed_swizzle(lanes.at[static_cast<std::size_t>(lane)], shift) / 4;
      std::uint32_t& bank = banks[word & 31];
      const std::uint32_t met = (bank & 255) + (bank >> 8 != word ? 1 : 0);
      bank = word << 8 | met;
      worst = std::max(worst, met);
    }
  return static_cast<int>(worst);
}

/// How lanes collect the units of a word: `steps` turns of units / steps each.
struct Collect {
  int units, steps;
  explicit Collect(int dst_unit) : units(16 / dst_unit), steps(dst_unit <= 4 ? 4 : 16 / dst_unit) {}

  /// Addresses at step `step`, sub-unit `part`. Runs end at `run_units`.
  Lanes lanes(const Words& words, const Entries& entries, std::int32_t run_units, const maps::PackedTurn& turn,
              int step, int part) const {
    Lanes out;
    int count = 0;  // in a register: every lane waits for it
    for (int i = 0; i < words.count; ++i) {
      const Words::Word& word = words.at[static_cast<std::size_t>(i)];
      const std::int32_t unit = word.unit + maps::packed_turn(word.lane, step, steps, turn) * (units / steps) + part;
      if (unit < 0 || unit >= run_units) continue;
      out.at[static_cast<std::size_t>(count++)] = word.row + entries.run[static_cast<std::size_t>(unit)];
    }
    out.count = count;
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
