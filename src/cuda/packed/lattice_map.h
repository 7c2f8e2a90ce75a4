// How the threads of packed's kernels lie over the words of a tile, and in which order a lane collects its word.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"

namespace restride::cuda {

inline constexpr int kPackedThreads = 256;

/// How a block's threads lie over the words of lines (rows, groups of rows, or pieces): `across` words of each of
/// kPackedThreads / across lines. Steps are numbered along the lines first, so a thread seldom changes its words.
struct PackedLattice {
  base::FastDiv across;    ///< words side by side
  std::int32_t lines = 1;  ///< lines a step takes
  base::FastDiv passes;    ///< steps along the lines
  std::int32_t steps = 0;
};

/// Flat runs in cycles: the fewest runs that are whole words together. The words of one cycle are found where those of
/// another are, so a lane keeps its word of the cycle for every `together`-th cycle.
struct PackedCycles {
  std::int32_t runs = 1;      ///< of a cycle
  base::FastDiv words;        ///< of a cycle
  std::int32_t together = 1;  ///< cycles side by side
};

/// Lanes collect the parts of their dst words in different orders, so that they meet in fewer banks; see
/// packed_rotated.
struct PackedRotation {
  std::int32_t factor = 1, shift = 5;  ///< 5: all lanes in one order
  friend constexpr bool operator==(const PackedRotation&, const PackedRotation&) = default;
};

struct PackedStep {
  std::int32_t word = 0, line = 0;
};

/// What a thread moves in step `step`. Words and lines may lie outside the tile; those of idle threads always do.
RESTRIDE_HD constexpr PackedStep packed_step(const PackedLattice& l, std::uint32_t step, std::uint32_t thread) {
  constexpr std::int32_t kOutside = 1 << 24;
  const std::uint32_t group = l.passes.quotient(step), pass = step - group * l.passes.divisor;
  const std::uint32_t row = l.across.quotient(thread), column = thread - row * l.across.divisor;
  const auto line = static_cast<std::int32_t>(row);
  return {static_cast<std::int32_t>(group * l.across.divisor + column),
          line < l.lines ? static_cast<std::int32_t>(pass) * l.lines + line : kOutside};
}

/// The word of a cycle that a thread moves as its item number `item`, and the first cycle it does so in; `line` is
/// `together` or more where there is no such item.
RESTRIDE_HD constexpr PackedStep packed_cycle_word(const PackedCycles& c, std::uint32_t item) {
  const std::uint32_t cycle = c.words.quotient(item);
  return {static_cast<std::int32_t>(item - cycle * c.words.divisor), static_cast<std::int32_t>(cycle)};
}

/// By how many parts a lane is ahead of the first.
RESTRIDE_HD constexpr int packed_ahead(int lane, const PackedRotation& rotation) {
  return lane * rotation.factor >> rotation.shift;
}

/// Which part of its dst word a lane collects at step i of `steps` (a power of two).
RESTRIDE_HD constexpr int packed_rotated(int lane, int i, int steps, const PackedRotation& rotation) {
  return (i + packed_ahead(lane, rotation)) & (steps - 1);
}

}  // namespace restride::cuda
