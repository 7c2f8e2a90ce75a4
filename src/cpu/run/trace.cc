// What run does: lines of dst, one after the other.
#include <algorithm>

#include "src/cpu/trace.h"

namespace restride::cpu {

void trace_kernel(const RunArgs& a, const TraceBase& on) {
  constexpr std::int64_t kPieceBytes = 1024;
  const std::int64_t each = std::max<std::int64_t>(kPieceBytes / a.dst_unit, 1);
  on.t.piece_is = "run";
  if (a.stream) on.t.vector_bytes = store_vector_bytes();  // else memcpy or the conversion stores
  on.set_pieces((a.tasks + each - 1) / each);
  const std::int64_t first = on.t.piece * each, last = std::min(first + each, a.tasks);
  const std::int64_t line = std::max<std::int64_t>(kLineBytes / a.dst_unit, 1);
  for (std::int64_t unit = first; unit < last; unit += line) {
    const std::int64_t n = std::min(line, last - unit);
    const auto number = static_cast<std::int32_t>((unit - first) / line);
    on.t.load(number, number, on.src + unit * a.src_unit, n * a.src_unit);
    on.t.store(number, number, on.dst + unit * a.dst_unit, n * a.dst_unit);
    for (std::int64_t u = unit; u < unit + n; ++u) on.t.unit(number, on.dst + u * a.dst_unit, on.src + u * a.src_unit);
  }
}

}  // namespace restride::cpu
