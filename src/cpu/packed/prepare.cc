#include "src/cpu/packed/prepare.h"

#include "src/base/checked.h"
#include "src/cpu/order.h"

namespace restride::cpu {

void fill_packed(const layout::Canonical& c, const PackedSets& sets, CpuArgs* a) {
  Packed& p = a->packed;
  int place[layout::kMaxCopyModes];  // of a canonical mode among the tile's, -1 outside
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    layout::CopyMode mode = c.modes[m];
    if (mode.src_stride < 0 && sets.in_src_run(static_cast<std::uint8_t>(m))) turn(&mode, a);
    const std::int64_t points = sets.points[m];
    place[m] = -1;
    if (points > 1) {
      place[m] = p.rank;
      p.modes[p.rank] = {mode.extent, points, mode.dst_stride, mode.src_stride, -1};
      if (static_cast<int>(m) < sets.dst_run) p.dst_run_modes = p.rank + 1;
      if (points < mode.extent) p.modes[p.rank].outer = a->nest.rank;
      ++p.rank;
    }
    if (points < mode.extent)
      a->nest.push({ceil_div(mode.extent, points), mode.dst_stride * points, mode.src_stride * points});
  }
  int placed = 0;
  for (std::uint8_t m : sets.src_run)
    if (place[m] >= 0) p.src_order[placed++] = static_cast<std::uint8_t>(place[m]);
  p.src_run_modes = placed;
  for (std::uint8_t m : layout::modes_by_src_stride(c)) {
    bool there = place[m] < 0;
    for (int i = 0; i < placed; ++i) there |= p.src_order[i] == place[m];
    if (!there) p.src_order[placed++] = static_cast<std::uint8_t>(place[m]);
  }
}

}  // namespace restride::cpu
