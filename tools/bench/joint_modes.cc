#include "tools/bench/joint_modes.h"

#include <algorithm>

namespace restride::bench {

std::optional<std::vector<JointMode>> joint_modes(const Case& c) {
  const Layout& dst = c.dst.layout;
  const Layout& src = c.src.layout;
  if (dst.rank() != src.rank()) return std::nullopt;
  std::vector<JointMode> modes;
  for (int m = 0; m < dst.rank(); ++m) {
    if (dst.modes[m].extent != src.modes[m].extent || dst.modes[m].extent == 0) return std::nullopt;
    if (dst.modes[m].extent == 1) continue;
    if (dst.modes[m].stride_bytes <= 0) return std::nullopt;
    modes.push_back({dst.modes[m].extent, dst.modes[m].stride_bytes, src.modes[m].stride_bytes});
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const JointMode& a, const JointMode& b) { return a.dst_stride < b.dst_stride; });
  std::vector<JointMode> merged;
  for (const JointMode& mode : modes) {
    if (!merged.empty() && mode.dst_stride == merged.back().dst_stride * merged.back().extent &&
        mode.src_stride == merged.back().src_stride * merged.back().extent)
      merged.back().extent *= mode.extent;
    else
      merged.push_back(mode);
  }
  return merged;
}

std::optional<MatrixBatch> matrix_batch(const Case& c) {
  const auto modes = joint_modes(c);
  const std::int64_t size = c.src.layout.element.size_bytes;
  if (!modes || modes->size() < 2 || c.src.layout.element != c.dst.layout.element) return std::nullopt;
  MatrixBatch out;
  int found = 0;
  for (const JointMode& mode : *modes) {
    if (mode.dst_stride == size && mode.src_stride != size) {
      out.columns = mode;
      found |= 1;
    } else if (mode.src_stride == size && mode.dst_stride != size) {
      out.rows = mode;
      found |= 2;
    } else {
      out.batch.push_back(mode);
      out.count *= mode.extent;
    }
  }
  const bool whole = out.columns.src_stride % size == 0 && out.rows.dst_stride % size == 0;
  const bool wide =
      out.columns.src_stride >= out.rows.extent * size && out.rows.dst_stride >= out.columns.extent * size;
  if (found != 3 || !whole || !wide) return std::nullopt;
  return out;
}

}  // namespace restride::bench
