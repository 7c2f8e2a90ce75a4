// Whether the rows of a tile meet in the first cache: the planner and the kernels ask the same.
#pragma once

#include <cstdint>

namespace restride::cpu {

/// True where rows that start at base + offsets[0 .. rows) spread over the sets of the first cache by themselves.
inline bool spread_over_sets(std::uintptr_t base, const std::int64_t* offsets, std::int64_t rows) noexcept {
  constexpr std::uintptr_t kLineBytes = 64;
  constexpr int kSets = 64;
  constexpr int kMostLines = 8;  // of the 12 that a set holds
  int lines[kSets] = {};
  for (std::int64_t r = 0; r < rows; ++r)
    if (++lines[(base + static_cast<std::uintptr_t>(offsets[r])) / kLineBytes % kSets] > kMostLines) return false;
  return true;
}

}  // namespace restride::cpu
