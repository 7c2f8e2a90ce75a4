// Sets of modes that several families put inside their tiles.
#pragma once

#include "src/cpu/nest.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

/// A chain of canonical modes that is dense on one side, innermost first.
struct ModeSet {
  detail::FixedVector<std::uint8_t, layout::kMaxCopyModes> modes;
  std::int64_t points = 1;
  bool has(std::size_t mode) const noexcept {
    for (std::uint8_t m : modes)
      if (m == mode) return true;
    return false;
  }
};

/// Of the first `points` (256 at most) of a set, innermost first, as they lie in src or in dst: the most that start in
/// one of the 64 sets of the first cache, each in a line of its own.
std::int64_t most_in_a_cache_set(const layout::Canonical& c, const ModeSet& set, Side side, std::int64_t points);

/// How many of `extent` points, `each` bytes apart, make a run of run_bytes; a little more rather than a cut one.
std::int64_t chunk_of(std::int64_t extent, std::int64_t each, std::int64_t run_bytes);

}  // namespace restride::cpu
