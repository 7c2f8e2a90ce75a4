#include "src/plan/cpu_records.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::plan {

bool records_of(const layout::Canonical& c, Records* out) {
  if (c.two_sided || c.cast || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) return false;
  const bool joined = c.modes[0].src_stride == c.src_unit;
  const bool reversed = c.modes[0].src_stride == -c.src_unit;
  const std::int64_t extent = joined || reversed ? c.modes[0].extent : 1;
  if (extent > kMaxRecordBytes / c.dst_unit) return false;
  const auto record = static_cast<std::int32_t>(extent * c.dst_unit);
  // A whole vector is turned round at a time.
  if (reversed && record > 16) return false;
  const std::size_t inner = extent > 1 ? 1 : 0;
  std::size_t fast = c.modes.size();
  for (std::size_t i = inner; i < c.modes.size(); ++i)
    if (c.modes[i].src_stride != 0 &&
        (fast == c.modes.size() || magnitude(c.modes[i].src_stride) < magnitude(c.modes[fast].src_stride)))
      fast = i;
  if (fast == c.modes.size() || fast == inner || c.modes[inner].dst_stride != record) return false;
  const auto cell = static_cast<std::int64_t>(magnitude(c.modes[fast].src_stride));
  if (cell < record || cell > kMaxCellBytes || (cell == record && extent == 1)) return false;
  out->copy = c;
  if (inner == 1) out->copy.modes.erase(0);
  out->copy.units = c.units / extent;
  out->copy.dst_unit = record;
  out->copy.src_unit = static_cast<std::int32_t>(cell);
  out->unit_bytes = c.dst_unit;
  out->reversed = reversed;
  return true;
}

}  // namespace restride::plan
