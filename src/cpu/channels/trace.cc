// What the kernels of channels do: points, all of whose channels are moved at once.
#include <algorithm>

#include "src/cpu/trace.h"

namespace restride::cpu {

void trace_kernel(const ChannelsArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  t.piece_is = "piece";
  on.set_pieces(a.tasks);
  const NestCursor at(a.nest, t.piece);
  const std::int64_t points = at.index(0) == a.nest[0].extent - 1 ? a.last_points : a.points;
  const std::int64_t channels = a.channels.extent, dst = on.dst + at.dst(), src = on.src + at.src();
  const bool join = a.nest[0].dst_stride != a.points * a.dst_unit;  // points lie apart in dst
  const std::int64_t dst_step = join ? channels * a.dst_unit : a.dst_unit;
  t.units_of_piece = points * channels;
  // A line's worth of points at a time, as the vectors take them; colours tell these apart.
  const std::int64_t each = std::max<std::int64_t>(64 / std::max(a.dst_unit, a.src_unit), 1);
  for (std::int64_t p = 0; p < points && !t.full(); p += each) {
    const std::int64_t n = std::min(each, points - p);
    const auto step = static_cast<std::int32_t>(p / each);
    for (std::int64_t k = 0; k < channels; ++k) {
      const auto channel = static_cast<std::int32_t>(k);
      const std::int64_t from = src + k * a.channels.src_stride + p * a.point_src_stride;
      const std::int64_t to = dst + k * a.channels.dst_stride + p * dst_step;
      if (join) t.load(step, channel, from, n * a.src_unit);
      if (!join) t.store(step, channel, to, n * a.dst_unit);
      for (std::int64_t i = 0; i < n; ++i) {
        if (!join) t.load(step, channel, from + i * a.point_src_stride, a.src_unit);
        if (join) t.store(step, channel, to + i * dst_step, a.dst_unit);
        t.unit(channel, to + i * dst_step, from + i * a.point_src_stride);
      }
    }
  }
}

}  // namespace restride::cpu
