// How the lanes of a warp meet in shared memory's banks while they collect words of dst: what packed's planning on CUDA
// simulates to choose lattices, rotations, paddings and swizzles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "src/base/checked.h"
#include "src/cuda/packed/staged.h"

namespace restride::cuda::packed {

inline constexpr PackedRotation kNoRotation{};

/// Fills `sums` with what the first index tuples of a group add up to, in their order, from `first` on; step_of(m) is
/// what a step along mode m adds. Sums are modular: T is unsigned.
template <class T, class StepOf>
void fill_sums(const PackedModes& modes, std::span<T> sums, std::int64_t first, StepOf step_of) {
  if (sums.empty()) return;
  sums[0] = static_cast<T>(first);
  std::size_t tuples = 1;  // of the modes so far
  for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) {
    T step = static_cast<T>(step_of(m));
    tuples *= modes.extent[m].divisor;
    const std::size_t end = std::min(sums.size(), tuples);
    // Twice as many at a time: what is read was written long before.
    for (std::size_t filled = tuples / modes.extent[m].divisor; filled < end; filled *= 2, step += step)
      for (std::size_t n = filled; n < std::min(end, 2 * filled); ++n) sums[n] = sums[n - filled] + step;
  }
}

/// The entries of the run table and the row table that one warp looks up: filled when first wanted, for every lattice
/// that is tried.
class Entries {
 public:
  // Units of 32 words and what they reach beyond a run; rows. Only what is looked up is filled.
  static constexpr std::size_t kRun = 32 * 16 + 16, kRows = 32 * 4;
  std::array<std::uint32_t, kRun> run;
  std::array<std::uint32_t, kRows> row;

  Entries() noexcept {}  // nothing is filled yet

  /// Makes the first entries of `run` for this padding of `a`, which otherwise is the same at every call.
  void place(const PackedArgs& a, std::int32_t pad_shift, int run_entries) {
    if (runs_ == 0) sum_up(a, run_entries);
    for (std::size_t p = 0; p < runs_; ++p)
      run[p] = unpadded_[p] + static_cast<std::uint32_t>(
                                  packed_piece_shift(pad_shift, static_cast<std::int32_t>(piece_[p]), piece_src_[p]));
  }

  void place_rows(const PackedArgs& a, int row_entries) {
    fill_sums(a.row_modes, std::span(row).first(static_cast<std::size_t>(std::min(row_entries, a.rows))), 0,
              [&](std::size_t m) { return a.row_modes.src_stride[m]; });
  }

 private:
  void sum_up(const PackedArgs& a, int run_entries) {
    runs_ = static_cast<std::size_t>(std::min(run_entries, a.run_units));
    const PackedModes& modes = a.run_modes;
    fill_sums(modes, std::span(piece_).first(runs_), 0, [&](std::size_t m) { return modes.piece_step[m]; });
    fill_sums(modes, std::span(piece_src_).first(runs_), 0,
              [&](std::size_t m) { return modes.piece_step[m] != 0 ? modes.src_stride[m] : 0; });
    fill_sums(modes, std::span(unpadded_).first(runs_), a.run_inside, [&](std::size_t m) {
      return modes.piece_step[m] != 0 ? modes.piece_step[m] * std::int64_t{a.piece_pitch} : modes.src_stride[m];
    });
    if (a.kind != PackedKind::kFlat) return;
    for (; runs_ < static_cast<std::size_t>(run_entries); ++runs_) {  // flat runs go on into the next ones
      const std::size_t before = runs_ - static_cast<std::size_t>(a.run_units);
      piece_[runs_] = piece_[before];
      piece_src_[runs_] = piece_src_[before];
      unpadded_[runs_] = unpadded_[before] + static_cast<std::uint32_t>(a.flat_step);
    }
  }

  std::size_t runs_ = 0;
  std::array<std::uint32_t, kRun> piece_, piece_src_, unpadded_;
};

/// The words of dst that the first warp's lanes collect: where each starts in a run, and what its row adds.
struct Words {
  std::array<std::int32_t, 32> lane, unit;  // of all, `count` are set
  std::array<std::uint32_t, 32> row;
  std::size_t count = 0;
  void push_back(std::uint32_t of_lane, std::int32_t first_unit, std::uint32_t row_entry) {
    lane[count] = static_cast<std::int32_t>(of_lane);
    unit[count] = first_unit;
    row[count++] = row_entry;
  }
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
      const std::uint32_t word = packed_swizzle(lanes.at[static_cast<std::size_t>(lane)], shift) / 4;
      std::uint32_t& bank = banks[word & 31];
      const std::uint32_t same = bank ^ word << 8;  // then it is how many the bank gave
      const std::uint32_t met = same > 255 ? (bank & 255) + 1 : same;
      bank = word << 8 | met;
      worst = std::max(worst, met);
    }
  return static_cast<int>(worst);
}

/// Which words the lanes of an access want; made once for many accesses.
class Seen {
 public:
  void next_access() { access_ += std::uint64_t{1} << 32; }

  /// True the first time in an access.
  bool first(std::uint32_t word) {
    const std::uint64_t key = access_ | word;
    std::size_t place = word * 0x9e3779b1u >> kHashShift;
    // Held by another word of this access: one branch, seldom taken.
    while ((found_[place] ^ key) - 1 < ~std::uint32_t{0}) place = (place + 1) % found_.size();
    const bool is_first = found_[place] != key;
    found_[place] = key;
    return is_first;
  }

 private:
  static constexpr int kHashShift = 23;
  std::array<std::uint64_t, 1 << (32 - kHashShift)> found_{};  // an access and its word, hashed
  std::uint64_t access_ = 0;                                   // counted from 1 in the high half
};

/// One access under one swizzle after another. A swizzle moves words among the banks and never makes two of one: which
/// lanes want the same word is found out once, and counting the words of each bank says most of the rest.
class Swizzled {
 public:
  Swizzled(const Lanes& lanes, Seen& seen) : lanes_(lanes) {
    seen.next_access();
    std::uint32_t quarters = 0;  // of how many words there are, in a byte each
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes_.count); ++lane) {
      const std::uint32_t word = lanes_.at[lane] / 4;
      first_[lane] = seen.first(word) ? 1 : 0;
      quarters += std::uint32_t{first_[lane]} << (word % 4 * 8);
    }
    for (; quarters != 0; quarters >>= 8) {
      const auto words = static_cast<int>(quarters & 255);
      words_ += words;
      least_ = std::max(least_, (words + 7) / 8);
    }
  }

  /// The fewest cycles under any swizzle: none moves a word out of the eight banks that give its quarter of 16 bytes.
  int least() const { return least_; }

  /// As `cycles` of the lanes.
  int cycles(std::int32_t shift, int most) const {
    const int least = words_of_a_bank(shift);
    return words_ == lanes_.count || least > most ? least : packed::cycles(lanes_, shift, most);
  }

 private:
  /// Of the words, the most that one bank gives; at least 1.
  int words_of_a_bank(std::int32_t shift) const {
    std::array<std::uint32_t, 32> banks;  // loops over all lanes are cheaper than such over few
    for (std::size_t lane = 0; lane < 32; ++lane) banks[lane] = packed_swizzle(lanes_.at[lane], shift) / 4 & 31;
    std::array<std::uint8_t, 32> words{};
    for (std::size_t lane = 0; lane < 32; lane += 8)
      for (std::size_t i = lane; i < lane + 8; ++i) words[banks[i]] += first_[i];
    std::uint8_t most = 1;
    for (const std::uint8_t n : words) most = std::max(most, n);
    return most;
  }

  const Lanes& lanes_;
  std::array<std::uint8_t, 32> first_{};  ///< 1 where a lane is the first to want its word
  int words_ = 0, least_ = 0;
};

/// How lanes collect the units of a word: in `steps` steps, `each` units a step.
struct Collect {
  int units, steps, each;
  explicit Collect(int dst_unit)
      : units(16 / dst_unit), steps(dst_unit <= 4 ? 4 : units), each(dst_unit <= 4 ? 4 / dst_unit : 1) {}

  /// Addresses at step `step`, sub-unit `part`. Runs end at `run_units`.
  Lanes lanes(const Words& words, const Entries& entries, std::int32_t run_units, const PackedRotation& rotation,
              int step, int part) const {
    std::array<std::int32_t, 32> units_at;  // a loop of its own: the compiler makes vectors of it
    for (std::size_t i = 0; i < words.count; ++i)
      units_at[i] = words.unit[i] + packed_rotated(words.lane[i], step, steps, rotation) * each + part;
    Lanes out;
    std::size_t count = 0;
    for (std::size_t i = 0; i < words.count; ++i) {  // without a branch: a lane beyond the run gives way to the next
      out.at[count] = words.row[i] + entries.run[static_cast<std::size_t>(units_at[i])];
      count += units_at[i] < run_units ? 1 : 0;
    }
    out.count = static_cast<int>(count);
    for (; count < 32; ++count) out.at[count] = 0;
    return out;
  }

  /// Places in a run table at one look-up, for runs that lie one after the other: 8 bytes every 32 of units of 1.
  Lanes look_ups(const PackedRotation& rotation) const {
    Lanes out;
    for (int lane = 0; lane < 16; ++lane)
      out.push_back(static_cast<std::uint32_t>((lane * units + packed_rotated(lane, 0, steps, rotation) * each) * 2));
    return out;
  }
};

/// What a word of dst costs besides the banks in which its lanes meet, in cycles.
struct CollectCosts {
  double accesses = 0;  // to shared memory
  double swizzle = 0, look_up = 0;

  /// Where two accesses take `met` cycles together, by threads that have `waste` times the steps their words need.
  double of(int met, std::int32_t shift, const PackedRotation& rotation, double waste) const {
    return (accesses * kLaneCosts.access * met + kLaneCosts.word + look_up + (shift != kNoSwizzle ? swizzle : 0.0) +
            (rotation != kNoRotation ? kLaneCosts.rotate : 0.0)) *
           waste;
  }
  /// The most cycles that they may take together for less than `best`; less than 2: none do.
  int most(double best, std::int32_t shift, const PackedRotation& rotation, double waste) const {
    int met = static_cast<int>(
        std::min(64.0, (best / waste - of(0, shift, rotation, 1)) / (accesses * kLaneCosts.access) + 1.0));
    while (met >= 2 && of(met, shift, rotation, waste) >= best) --met;  // what was rounded
    return met;
  }
};

/// Paddings to choose from: none, and a word after the pieces of every word of dst.
inline detail::FixedVector<std::int32_t, 2> pads_of(const PackedArgs& a, int units) {
  detail::FixedVector<std::int32_t, 2> pads;
  pads.push_back(kNoPad);
  if (packed_pads(16 / units) && a.pieces > units) pads.push_back(std::countr_zero(static_cast<unsigned>(units)));
  return pads;
}

}  // namespace restride::cuda::packed
