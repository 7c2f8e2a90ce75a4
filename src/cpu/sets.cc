#include "src/cpu/sets.h"

#include <numeric>

#include "src/base/checked.h"

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

}  // namespace restride::cpu
