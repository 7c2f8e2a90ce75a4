// Moves: short modes. A tile is a set of modes: those that make long dense runs in src and those that make long dense
// runs in dst, together; sets may share modes, and a long mode is taken in blocks.
// Applies when: the sets' union fits a tile. Covers (N,3), batches of small matrices, qubit registers.
// Task map: task t is tile t of the outer nest; a block that is cut short at the end of its mode has fewer points.
//   Short gaps in the source's runs are read along, and left out on the way: three channels of four.
// Buffers: the tile's source runs, converted if there is a cast (with `near` one run is read where it is), a table of
//   where in it each unit of dst lies (built once a call, and again when a block is cut short), and a piece of
//   destination, or a whole tile, on its way out.
// Traffic: source runs and destination runs of at least a few lines each; every line once.
// Source and measured: tile sets as in cuTT's packed kernels (Hynninen, Lyakh 2017). A tile is permuted in the way that
//   takes least (cpu/packed/ways.h): plane by plane in registers, rows in groups (grouped_planes-inl.h) or one by one
//   (planes-inl.h), by a list of shuffles worked out once (shuffles-inl.h), or unit by unit from the table
//   (table_pick-inl.h). Zen 5, one thread, batches of 55 random sizes below 33x33 in units of 1 to 8 bytes, in turns:
//   0.65 of a copy with rows one by one and tiles that leave as a whole, 0.80 in groups and line by line.
#pragma once

#include "src/cpu/packed/args.h"

namespace restride::cpu {

/// Past the caches and without `near`, the source of repeats is prefetched so far ahead into the second cache, where it
/// goes on from tile to tile for several times as long; else like that of other tiles.
inline constexpr std::int64_t kRepeatsAheadBytes = 16 << 10;
constexpr bool goes_on_far(std::int64_t tiles, std::int64_t step, std::int64_t tile_bytes) noexcept {
  return step == tile_bytes && tiles * tile_bytes >= 4 * kRepeatsAheadBytes;
}
inline bool reads_far_ahead(const PackedArgs& a, std::int64_t tile_bytes) noexcept {
  return !a.near && a.nest.rank() > 0 && goes_on_far(a.nest[0].extent, a.nest[0].src_stride, tile_bytes);
}

/// The kernel of the instruction set in use.
KernelCode<PackedArgs> packed_kernel(int dst_unit) noexcept;
/// True when it permutes the bytes of a vector, which repeats need.
bool permutes_repeats() noexcept;

}  // namespace restride::cpu
