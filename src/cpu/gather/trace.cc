// What gather does: unit by unit, in dst's order.
#include <algorithm>

#include "src/cpu/trace.h"

namespace restride::cpu {

void trace_kernel(const GatherArgs& a, const TraceBase& on) {
  constexpr std::int64_t kEach = 64;
  plan::Trace& t = on.t;
  t.piece_is = "run";
  on.set_pieces((a.tasks + kEach - 1) / kEach);
  const Nest& from = a.src_nest.rank() > 0 ? a.src_nest : a.nest;
  NestCursor dst(a.nest, t.piece * kEach), src(from, t.piece * kEach);
  const std::int64_t last = std::min((t.piece + 1) * kEach, a.tasks);
  for (std::int64_t unit = t.piece * kEach; unit < last; ++unit, dst.next(), src.next()) {
    const auto number = static_cast<std::int32_t>(unit % kEach);
    t.load(number, number, on.src + src.src(), a.src_unit);
    t.store(number, number, on.dst + dst.dst(), a.dst_unit);
    t.unit(number, on.dst + dst.dst(), on.src + src.src());
  }
}

}  // namespace restride::cpu
