#include "src/plan/traffic.h"

#include "src/base/checked.h"
#include "src/base/saturated.h"

namespace restride::plan {
namespace {

using layout::CopyMode;
using layout::CopyModes;

/// Runs of bytes with no hole of a sector in them, each `run` long from first to last.
struct Runs {
  std::int64_t bytes = 0;  ///< of elements, in all of them
  std::int64_t run = 0;
  std::int64_t count = 1;
  std::int64_t starts = 0;  ///< its lowest bit: what divides the address of each
};

/// The modes whose `stride` moves on, shortest steps first.
CopyModes by_stride(const CopyModes& modes, std::int64_t CopyMode::*stride) {
  CopyModes out;
  for (const CopyMode& m : modes) {
    if (m.*stride == 0) continue;
    std::size_t at = out.size();
    while (at > 0 && magnitude(out[at - 1].*stride) > magnitude(m.*stride)) --at;
    out.insert(at, m);
  }
  return out;
}

Runs runs_of(const CopyModes& modes, std::int64_t CopyMode::*stride, std::int64_t unit, std::int64_t align,
             std::int64_t sector_bytes) {
  Runs r{unit, unit, 1, align};
  for (const CopyMode& m : by_stride(modes, stride)) {
    const auto step = static_cast<std::int64_t>(magnitude(m.*stride));
    if (r.count > 1 || step - r.run >= sector_bytes) {
      r.count = saturated_mul(r.count, m.extent);
      r.bytes = saturated_mul(r.bytes, m.extent);
      r.starts |= step;
      continue;
    }
    const std::int64_t reach = saturated_mul(step, m.extent - 1);
    const bool dense = r.bytes == r.run && step <= r.run;  // steps of less than a run are over what is counted
    r.bytes = dense ? saturated_add(r.run, reach) : saturated_mul(r.bytes, m.extent);
    r.run = saturated_add(r.run, reach);
    if (m.*stride < 0) r.starts |= reach;  // the first byte is as far in front of the first element
  }
  return r;
}

Touched touched(const Runs& r, std::int64_t sector_bytes) {
  const std::int64_t align = power_of_two_divisor(r.starts, sector_bytes);
  const std::int64_t behind = (r.run - 1) / align * align;  // bytes that reach into further sectors
  const std::int64_t whole = saturated_mul(r.count, behind / sector_bytes + 1);
  return {r.bytes, saturated_add(whole, ceil_div(saturated_mul(r.count, behind % sector_bytes), sector_bytes))};
}

}  // namespace

Touched touched_src(const layout::Canonical& c, std::int64_t sector_bytes) {
  const CopyModes& modes = c.two_sided ? c.src_modes : c.modes;
  return touched(runs_of(modes, &CopyMode::src_stride, c.src_unit, c.src_align, sector_bytes), sector_bytes);
}

Touched touched_dst(const layout::Canonical& c, std::int64_t sector_bytes) {
  return touched(runs_of(c.modes, &CopyMode::dst_stride, c.dst_unit, c.dst_align, sector_bytes), sector_bytes);
}

Traffic traffic_of(const layout::Canonical& c, std::int64_t sector_bytes) {
  const Touched src = touched_src(c, sector_bytes);
  const Touched dst = touched_dst(c, sector_bytes);
  return {src.bytes, dst.bytes, src.sectors, dst.sectors};
}

}  // namespace restride::plan
