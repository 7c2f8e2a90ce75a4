// Ranks in messages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace restride::distributed {

/// "rank 2", "ranks 1, 4 and 9 others": not all of many.
inline std::string named_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(ranks[i]);
  }
  if (ranks.size() > kMost) out.append(" and ").append(std::to_string(ranks.size() - kMost)).append(" others");
  return out;
}

}  // namespace restride::distributed
