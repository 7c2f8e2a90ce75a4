#include "src/cpu/packed/sets.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/costs.h"

namespace restride::cpu {
namespace {

/// Modes by the magnitude of their strides in src, the shortest first.
using StrideOrder = detail::FixedVector<std::uint8_t, layout::kMaxCopyModes>;

/// The mode that continues src's run of s.src_run_bytes: the next one up in stride. -1 where there is none, or only
/// one behind a gap that is not worth reading along: gaps are, where every line is needed anyway and an eighth of the
/// bytes are. at: the first of `order` that may be.
int next_in_src(const layout::Canonical& c, const PackedSets& s, const StrideOrder& order, std::size_t* at) {
  const auto stride = [&](int m) {
    return static_cast<std::int64_t>(magnitude(c.modes[static_cast<std::size_t>(m)].src_stride));
  };
  while (*at < order.size() && stride(order[*at]) < s.src_run_bytes) ++*at;
  const int next = *at < order.size() ? order[(*at)++] : -1;
  if (next < 0 || stride(next) == s.src_run_bytes) return next;
  const bool worth = stride(next) - s.src_run_bytes < kLineBytes && s.src_run_bytes < 4 * kLineBytes &&
                     stride(next) <= kSizes.packed_most_gaps * s.src_run_units * c.src_unit &&
                     (!c.cast || stride(next) % c.src_unit == 0);
  return worth ? next : -1;
}

}  // namespace

bool packed_sets(const layout::Canonical& c, std::int64_t dst_bytes, std::int64_t src_bytes, std::int64_t max_units,
                 int max_modes, PackedSets* out) {
  if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) return false;
  PackedSets s;
  s.points.resize(c.modes.size(), 1);
  for (std::size_t m = 0; m < c.modes.size() && c.modes[m].dst_stride == s.dst_run_units * c.dst_unit &&
                          s.dst_run_units * c.dst_unit < dst_bytes;
       ++m) {
    const std::int64_t n = chunk_of(c.modes[m].extent, c.modes[m].dst_stride, dst_bytes);
    s.points[m] = n;
    s.dst_run_units *= n;
    s.dst_run = static_cast<int>(m) + 1;
    if (n < c.modes[m].extent) break;
  }
  s.src_run_bytes = c.src_unit;
  std::int64_t units = s.dst_run_units;
  const StrideOrder order = layout::modes_by_src_stride(c);
  std::size_t at = 0;
  while (s.src_run_bytes < src_bytes) {
    const int next = next_in_src(c, s, order, &at);
    if (next < 0) break;
    const auto m = static_cast<std::size_t>(next);
    const auto stride = static_cast<std::int64_t>(magnitude(c.modes[m].src_stride));
    const std::int64_t n = std::max(s.points[m], chunk_of(c.modes[m].extent, stride, src_bytes));
    units = units / s.points[m] * n;
    if (units > max_units) return false;
    s.points[m] = n;
    s.src_run.push_back(static_cast<std::uint8_t>(m));
    s.src_run_units *= n;
    s.src_run_bytes += (n - 1) * stride;
    if (n < c.modes[m].extent) break;
  }
  int inside = 0;
  for (std::int64_t n : s.points) {
    if (n > max_units / s.units) return false;
    s.units *= n;
    inside += n > 1 ? 1 : 0;
  }
  s.dst_run_units = 1;
  for (int m = 0; m < s.dst_run; ++m) s.dst_run_units *= s.points[static_cast<std::size_t>(m)];
  if (s.src_run.empty() || inside > max_modes) return false;
  if (s.units > kPackedRuns * std::min(s.dst_run_units, s.src_run_units)) return false;
  if (s.src_run_bytes > kPackedBytes * c.src_unit / c.dst_unit / (s.units / s.src_run_units)) return false;
  const std::uint8_t fast = s.src_run.front();
  s.planes = fast != 0 && magnitude(c.modes[fast].src_stride) == static_cast<std::uint64_t>(c.src_unit) &&
             (c.modes[0].src_stride > 0 || !s.in_src_run(0)) && (c.modes[fast].src_stride > 0 || fast >= s.dst_run);
  *out = s;
  return true;
}

}  // namespace restride::cpu
