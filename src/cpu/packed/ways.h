// What permuting a packed tile in the caches takes, way by way, in the cycles of cpu/costs.h: the kernel goes by it
// tile by tile, the planner before.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/cpu/costs.h"

namespace restride::cpu {

/// A unit picked by the table of places.
constexpr double pick_cycles(std::int64_t unit) {
  constexpr PackedCycles k = kPackedCycles;
  return unit == 1 ? k.pick_byte : unit == 2 ? k.pick_half : unit <= 8 ? k.pick_word : k.pick_wide;
}

/// A vector put together from pairs of 64-byte windows. alike: most have the lanes of the one before.
constexpr double step_cycles(double pairs, bool alike) {
  return kPackedCycles.step + (alike ? kPackedCycles.step_pair_alike : kPackedCycles.step_pair) * pairs;
}

/// A plane of rows x cols units, transposed in registers in blocks of vector_bytes by 16. spill: vectors may write past
/// the end of their column.
constexpr double plane_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t vector_bytes,
                              bool spill) {
  constexpr PackedCycles k = kPackedCycles;
  const std::int64_t block_rows = vector_bytes / unit;
  const std::int64_t block_cols = std::max<std::int64_t>(16 / unit, 1);
  double shuffles = 0;  // a vector
  for (std::int64_t n = block_cols; n > 1; n /= 2) shuffles += k.block_shuffle;
  const double block =
      k.block_row * static_cast<double>(block_rows) + (k.block_column + shuffles) * static_cast<double>(block_cols);
  const std::int64_t blocks = ((rows + block_rows - 1) / block_rows) * ((cols + block_cols - 1) / block_cols);
  const double shown = unit <= 2 ? k.block_shown_small : k.block_shown;
  return k.plane + shown * block * static_cast<double>(blocks) +
         (spill ? 0 : k.short_column * static_cast<double>(cols));
}

/// Bytes of the vectors that a plane of this many rows goes through.
constexpr std::int64_t plane_vector_bytes(std::int64_t unit, std::int64_t rows) {
  return rows * unit <= 16 ? 16 : rows * unit <= 32 ? 32 : 64;
}

/// How a plane is taken in groups of rows, each read by one or two vectors whatever its rows' pitch
/// (grouped_planes-inl.h).
struct Grouping {
  std::int64_t cells = 0;    ///< in a group's vector, a column each; 0: the plane is not taken like that
  std::int64_t columns = 0;  ///< that are taken at once: all of the cells, or as many as fewer windows hold
  std::int64_t windows = 0;  ///< of 64 bytes that hold them
  std::int64_t height = 0;   ///< of a block's columns, in pieces of 16 bytes
  double cycles = 0;         ///< that the plane takes
};

/// Bytes of a plane that may be transposed column by column out of the first cache.
inline constexpr std::int64_t kMostNearPlane = 10 << 10;

/// The grouping that takes least for rows x cols units. Columns of less than a vector have to follow each other in dst.
constexpr Grouping grouping_of(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t from_pitch,
                               std::int64_t to_pitch) {
  const std::int64_t column_bytes = rows * unit;
  Grouping best;
  if (unit > 8 || from_pitch <= 0 || (column_bytes < 64 && to_pitch != column_bytes)) return best;
  const std::int64_t height = column_bytes <= 16 ? 1 : column_bytes <= 32 ? 2 : 4;
  const std::int64_t blocks = (column_bytes + 63) / 64;
  const std::int64_t block_rows = rows < 64 / unit ? rows : 64 / unit;
  // Columns of more than 32 bytes leave one by one, each put together from two halves; stores of a few bytes each wait
  // for one another.
  const std::int64_t stores = height == 4 ? 2 * blocks * cols : (cols * height + 3) / 4 * (column_bytes <= 4 ? 2 : 1);
  for (std::int64_t cells = 4; cells * unit <= 64 && cells <= 16; cells *= 2) {
    const std::int64_t group_rows = 64 / cells / unit;
    const std::int64_t groups = (block_rows + group_rows - 1) / group_rows;
    const std::int64_t last_row = ((group_rows < rows ? group_rows : rows) - 1) * from_pitch;
    for (std::int64_t columns = cells; columns > 0; columns -= 4) {
      const std::int64_t reach = last_row + (columns < cols ? columns : cols) * unit;
      if (reach > 128) continue;
      const std::int64_t windows = reach > 64 ? 2 : 1;
      const std::int64_t loads = blocks * ((cols + columns - 1) / columns) * groups * windows;
      const double more = blocks > 1 ? kPackedCycles.group_blocks * static_cast<double>(blocks) : 0;
      const double cycles = kPackedCycles.group + (static_cast<double>(loads + stores) + more);
      if (best.cells == 0 || cycles < best.cycles) best = {cells, columns, windows, height, cycles};
    }
  }
  return best;
}

/// A plane whose rows or columns are the 2 to 4 members of records, which vectors load or store at once.
constexpr double records_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols) {
  return kPackedCycles.records + static_cast<double>(rows * cols * unit) * kPackedCycles.records_byte;
}

/// True when a plane's columns, or its rows, are the 2 to 4 members of records, as many as the `lanes` that vectors
/// load or store at once.
constexpr bool splits_records(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t from_pitch,
                              std::int64_t lanes) {
  return from_pitch == cols * unit && cols >= 2 && cols <= 4 && rows >= lanes;
}
constexpr bool joins_records(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t to_pitch,
                             std::int64_t lanes) {
  return to_pitch == rows * unit && rows >= 2 && rows <= 4 && cols >= lanes;
}

/// A plane as its kernel transposes it, row by row: by vectors of 16 bytes, or of `longest` where columns fill them; as
/// records where those have enough of the `lanes` that vectors take at once.
double moved_plane_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t from_pitch,
                          std::int64_t to_pitch, std::int64_t longest, std::int64_t lanes);

/// What a tile that is one plane takes besides: nothing of it leaves before all of it is transposed.
constexpr double one_plane_cycles(std::int64_t bytes) {
  return static_cast<double>(bytes) * kPackedCycles.one_plane_byte;
}

}  // namespace restride::cpu
