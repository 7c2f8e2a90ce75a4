// Which modes a packed tile holds.
#pragma once

#include "src/cpu/sets.h"

namespace restride::cpu {

/// The largest tile: units of it, bytes of units in dst's width and of the gaps read along, runs on either side, modes.
inline constexpr std::int64_t kPackedUnits = 8192;
inline constexpr std::int64_t kPackedBytes = 16 << 10;
inline constexpr std::int64_t kPackedRuns = 2048;
inline constexpr int kPackedModes = 16;
inline constexpr std::int64_t kPackedRunBytes = 8192;  ///< what runs aim for; halved until the tile fits

/// Units of the largest tile of this copy.
inline std::int64_t most_packed_units(const layout::Canonical& c) {
  return kPackedUnits < kPackedBytes / c.dst_unit ? kPackedUnits : kPackedBytes / c.dst_unit;
}

/// The inside of a packed tile: how many points of each canonical mode are in it.
struct PackedSets {
  detail::FixedVector<std::int64_t, layout::kMaxCopyModes> points;  ///< by mode; 1 is outside
  /// Modes of the run in src, innermost first. One that runs downwards there is walked the other way round. The run is
  /// dense, or has short gaps, which are read along: pixels of which some channels are left out.
  detail::FixedVector<std::uint8_t, layout::kMaxCopyModes> src_run;
  int dst_run = 0;         ///< modes 0 .. dst_run-1 are the dense run in dst
  std::int64_t units = 1;  ///< points of the whole tile
  std::int64_t dst_run_units = 1;
  std::int64_t src_run_units = 1;
  std::int64_t src_run_bytes = 0;  ///< gaps included
  bool planes = false;             ///< two modes may be transposed in registers: neither is reversed inside dst's run

  bool in_src_run(std::uint8_t mode) const noexcept {
    for (std::uint8_t m : src_run)
      if (m == mode) return true;
    return false;
  }
};

/// Sets whose runs reach `dst_bytes` in dst and `src_bytes` in src where the modes allow it; false when dst has no
/// dense mode, src none that is nearly so, or when the tile would exceed max_units or max_modes.
bool packed_sets(const layout::Canonical& c, std::int64_t dst_bytes, std::int64_t src_bytes, std::int64_t max_units,
                 int max_modes, PackedSets* out);

}  // namespace restride::cpu
