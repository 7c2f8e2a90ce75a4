// What permuting a packed tile in the caches takes, way by way: the kernel goes by it tile by tile, the planner before.
// In cycles of a current core, and only their ratios matter; fitted to 74 layouts of short modes on Zen 5.
#pragma once

#include <algorithm>
#include <cstdint>

namespace restride::plan {

/// A unit picked by the table of places.
constexpr double pick_cycles(std::int64_t unit) { return unit == 1 ? 2 : unit == 2 ? 1.7 : unit <= 8 ? 1 : 0.7; }

/// A vector put together from pairs of 64-byte windows. alike: most have the lanes of the one before.
constexpr double step_cycles(double pairs, bool alike) { return 1 + (alike ? 2.4 : 3.8) * pairs; }

/// A plane of rows x cols units, transposed in registers in blocks of vector_bytes by 16. spill: vectors may write past
/// the end of their column.
constexpr double plane_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t vector_bytes,
                              bool spill) {
  const std::int64_t block_rows = vector_bytes / unit;
  const std::int64_t block_cols = std::max<std::int64_t>(16 / unit, 1);
  double shuffles = 0;  // a vector
  for (std::int64_t n = block_cols; n > 1; n /= 2) shuffles += 0.5;
  const double block = 0.75 * static_cast<double>(block_rows) + (1 + shuffles) * static_cast<double>(block_cols);
  const std::int64_t blocks = ((rows + block_rows - 1) / block_rows) * ((cols + block_cols - 1) / block_cols);
  const double hidden = unit <= 2 ? 0.6 : 0.75;
  return 3 + hidden * block * static_cast<double>(blocks) + (spill ? 0 : 8 * static_cast<double>(cols));
}

/// Bytes of the vectors that a plane of this many rows goes through.
constexpr std::int64_t plane_vector_bytes(std::int64_t unit, std::int64_t rows) {
  return rows * unit <= 16 ? 16 : rows * unit <= 32 ? 32 : 64;
}

/// A plane whose rows or columns are the 2 to 4 members of records, which vectors load or store at once.
constexpr double records_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols) {
  return 3 + static_cast<double>(rows * cols * unit) * (3.0 / 64);
}

/// What a tile that is one plane takes besides: nothing of it leaves before all of it is woven.
constexpr double one_plane_cycles(std::int64_t bytes) { return static_cast<double>(bytes) * (8.0 / 64); }

}  // namespace restride::plan
