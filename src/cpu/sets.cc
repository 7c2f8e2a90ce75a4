#include "src/cpu/sets.h"

#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cpu/costs.h"

namespace restride::cpu {

std::int64_t chunk_of(std::int64_t extent, std::int64_t each, std::int64_t run_bytes) {
  const std::int64_t need = ceil_div(run_bytes, each);
  if (extent <= need + need / 2) return extent;
  const std::int64_t line = 64 / std::gcd(each, std::int64_t{64});  // whole lines a run, where it costs little
  const std::int64_t whole = ceil_div(need, line) * line;
  const std::int64_t step = whole <= 2 * need && whole <= extent ? line : 1;
  const std::int64_t most = step == 1 ? need : whole;
  // Chunks of one size where the extent allows: a tile that is cut short builds its table again.
  const std::int64_t chunks = ceil_div(extent, most);
  return ceil_div(ceil_div(extent, chunks), step) * step;
}

std::int64_t most_in_a_cache_set(const layout::Canonical& c, const ModeSet& set, Side side, std::int64_t points) {
  constexpr std::int64_t kPoints = 256, kSets = 64;
  const std::int64_t n = std::min({points, set.points, kPoints});
  std::int64_t offsets[kPoints];
  offsets[0] = 0;
  std::int64_t filled = 1;
  for (const std::uint8_t m : set.modes) {
    const std::int64_t stride = side == Side::kDst ? c.modes[m].dst_stride : c.modes[m].src_stride;
    const std::int64_t all = std::min(n, filled * std::min(c.modes[m].extent, kPoints));
    for (std::int64_t i = filled; i < all; ++i) offsets[i] = offsets[i - filled] + stride;
    filled = all;
  }
  std::uint16_t lines[kSets] = {};
  std::uint16_t most = 0;
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto line = static_cast<std::int64_t>(static_cast<std::uint64_t>(offsets[i]) / kLineBytes);
    if (line != before) most = std::max(most, ++lines[line % kSets]);
    before = line;
  }
  return most;
}

}  // namespace restride::cpu
