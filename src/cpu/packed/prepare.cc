#include "src/cpu/packed/prepare.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/packed/kernel.h"
#include "src/cpu/packed/sets.h"
#include "src/cpu/prepare.h"

namespace restride::cpu {

namespace {

/// Fills `packed` and `nest`, and reverses the modes that src's run walks downwards.
void fill_packed(const layout::Canonical& c, const PackedSets& sets, PackedArgs* a) {
  Packed& p = a->packed;
  int place[layout::kMaxCopyModes];  // of a canonical mode among the tile's, -1 outside
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    layout::CopyMode mode = c.modes[m];
    if (mode.src_stride < 0 && sets.in_src_run(static_cast<std::uint8_t>(m))) reverse(&mode, a);
    const std::int64_t points = sets.points[m];
    place[m] = -1;
    if (points > 1) {
      place[m] = p.rank;
      p.modes[p.rank] = {mode.extent, points, mode.dst_stride, mode.src_stride, -1};
      if (static_cast<int>(m) < sets.dst_run) p.dst_run_modes = p.rank + 1;
      if (points < mode.extent) p.modes[p.rank].outer = a->nest.rank();
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

}  // namespace

PackedArgs prepare_packed(const layout::Canonical& c, const plan::Candidate& k, int) {
  PackedSets sets;
  const std::int64_t run = k.get(plan::ParamId::kRunBytes);
  const std::int64_t read = k.get(plan::ParamId::kReadBytes, run);
  const std::int64_t way = k.get(plan::ParamId::kWay);
  const bool sane = run >= 1 && run <= kPackedRunBytes && read >= 1 && read <= kPackedRunBytes && way >= 0 &&
                    way <= static_cast<std::int64_t>(PackedWay::kRepeats) &&
                    packed_sets(c, run, read, most_packed_units(c), kPackedModes, &sets);
  if (!sane) refuse(k, c);
  PackedArgs a;
  set_common(c, k, &a);
  a.kernel = packed_kernel(c.dst_unit);
  a.way = static_cast<PackedWay>(way);
  a.src_end = dense_end(c);
  fill_packed(c, sets, &a);
  a.tasks = a.nest.points();
  return a;
}

}  // namespace restride::cpu
