// Pieces that lie in a page each.
#pragma once

#include <cstdint>

#include "src/base/checked.h"
#include "src/cpu/costs.h"

namespace restride::cpu {

/// True where places at this stride are in as many pages, which are soon more than the TLB knows.
inline bool is_far_apart(std::int64_t stride) noexcept { return magnitude(stride) >= kPageBytes; }

/// The TLB keeps the pages of so many places until the next places come, which mostly lie in the same pages.
inline constexpr std::int64_t kFewPages = 32;

/// Fills a core's window of instructions, so that about a dozen places that are far apart are under way at a time. With
/// more they wait for each other's translations. (Zen 3, runs
/// of 24 bytes at pitches of whole pages, packed: 6.8 to 8.7 ns a run without, 5.5 to 6.4 with it; a loop that moves 8
/// bytes at a time 6.0 to 7.0.)
inline void wait_a_little() noexcept {
#if defined(__x86_64__)
  asm volatile(".rept 16\n\tnop\n\t.endr");
#endif
}

}  // namespace restride::cpu
