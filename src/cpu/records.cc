#include "src/cpu/records.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::cpu {
namespace {

/// The run that both sides share, innermost: some units, or one.
struct Shared {
  std::int64_t extent = 1;  ///< units
  std::int64_t bytes = 0;   ///< of a record
  bool reversed = false;    ///< units run downwards in src
  std::size_t outer = 0;    ///< the first mode outside it
};

/// False where it is longer than `most` bytes, or all there is.
bool shared_run(const layout::Canonical& c, std::int64_t most, Shared* out) {
  if (c.two_sided || c.cast || c.modes.empty()) return false;
  const layout::CopyMode& m = c.modes[0];
  const bool dense = m.dst_stride == c.dst_unit;
  out->reversed = dense && m.src_stride == -c.src_unit;
  if (out->reversed || (dense && m.src_stride == c.src_unit)) out->extent = m.extent;
  if (out->extent > most / c.dst_unit) return false;
  out->bytes = out->extent * c.dst_unit;
  out->outer = out->extent > 1 ? 1 : 0;
  return out->outer < c.modes.size();
}

void view(const layout::Canonical& c, const Shared& s, std::int64_t cell, Records* out) {
  out->copy = c;
  if (s.outer == 1) out->copy.modes.erase(0);
  out->copy.units = c.units / s.extent;
  out->copy.dst_unit = static_cast<std::int32_t>(s.bytes);
  out->copy.src_unit = static_cast<std::int32_t>(cell);
  out->unit_bytes = c.dst_unit;
  out->reversed = s.reversed;
}

std::int64_t src_step(const layout::CopyMode& m) { return static_cast<std::int64_t>(magnitude(m.src_stride)); }

}  // namespace

bool tile_records(const layout::Canonical& c, Records* out) {
  Shared s;
  if (!shared_run(c, kMaxRecordBytes, &s)) return false;
  if (s.reversed && s.bytes > 16) return false;  // a whole vector is reversed at a time
  std::size_t fast = c.modes.size();
  for (std::size_t i = s.outer; i < c.modes.size(); ++i)
    if (c.modes[i].src_stride != 0 && (fast == c.modes.size() || src_step(c.modes[i]) < src_step(c.modes[fast])))
      fast = i;
  if (fast == c.modes.size() || fast == s.outer || c.modes[s.outer].dst_stride != s.bytes) return false;
  const std::int64_t cell = src_step(c.modes[fast]);
  if (cell < s.bytes || cell > kMaxCellBytes || (cell == s.bytes && s.extent == 1)) return false;
  view(c, s, cell, out);
  return true;
}

bool row_records(const layout::Canonical& c, Records* out) {
  Shared s;
  if (!shared_run(c, kMaxRowRecordBytes, &s)) return false;
  const std::int64_t cell = src_step(c.modes[s.outer]);
  const std::int64_t dst_cell = c.modes[s.outer].dst_stride;
  if (cell < s.bytes || cell > kMaxCellBytes || dst_cell < s.bytes || dst_cell > kMaxCellBytes) return false;
  if (s.extent == 1 && cell == s.bytes && dst_cell == s.bytes) return false;
  view(c, s, cell, out);
  return true;
}

}  // namespace restride::cpu
