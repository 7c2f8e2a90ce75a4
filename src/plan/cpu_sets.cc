#include "src/plan/cpu_sets.h"

namespace restride::plan {

bool tile_sets(const layout::Canonical& c, std::int64_t row_bytes, std::int64_t col_bytes, TileSets* out) {
  if (c.two_sided || c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return false;
  std::size_t fast = 0;
  for (std::size_t i = 1; i < c.modes.size() && fast == 0; ++i)
    if (c.modes[i].src_stride == c.src_unit || c.modes[i].src_stride == -c.src_unit) fast = i;
  if (fast == 0) return false;
  out->cols_backwards = c.modes[fast].src_stride < 0;
  out->cols.modes.push_back(static_cast<std::uint8_t>(fast));
  out->cols.points = c.modes[fast].extent;
  for (bool grew = !out->cols_backwards; grew && out->cols.points * c.src_unit < col_bytes;) {
    grew = false;
    for (std::size_t i = 1; i < c.modes.size() && !grew; ++i)
      if (c.modes[i].src_stride == out->cols.points * c.src_unit && !out->cols.has(i)) {
        out->cols.modes.push_back(static_cast<std::uint8_t>(i));
        out->cols.points *= c.modes[i].extent;
        grew = true;
      }
  }
  out->rows.modes.push_back(0);
  out->rows.points = c.modes[0].extent;
  for (std::size_t i = 1; i < c.modes.size(); ++i) {
    const std::int64_t bytes = out->rows.points * c.dst_unit;
    const bool enough = bytes % 64 == 0 ? bytes >= 256 : bytes >= row_bytes;
    if (enough || out->cols.has(i) || c.modes[i].dst_stride != bytes) break;
    out->rows.modes.push_back(static_cast<std::uint8_t>(i));
    out->rows.points *= c.modes[i].extent;
  }
  return true;
}

}  // namespace restride::plan
