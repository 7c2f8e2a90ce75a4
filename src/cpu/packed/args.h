// What the kernel packed/staged is given.
#pragma once

#include "src/cpu/args.h"
#include "src/cpu/packed/sets.h"

namespace restride::cpu {

/// A mode of a packed tile. `block` points of it are inside; if it is longer, nest mode `outer` walks its blocks.
struct PackedMode {
  std::int64_t extent = 1;  ///< of the whole mode
  std::int64_t block = 1;
  std::int64_t dst_stride = 0;
  std::int64_t src_stride = 0;
  std::int32_t outer = -1;  ///< index in the nest, -1 when the whole mode is inside
};

/// The modes inside a packed tile, innermost in dst first. The first `dst_run_modes` of them are one dense run in
/// dst; `src_order` lists them innermost in src first, and the first `src_run_modes` of that are one dense run in src.
struct Packed {
  static constexpr int kCapacity = kPackedModes;
  int rank = 0;
  PackedMode modes[kCapacity];
  int dst_run_modes = 0;
  int src_run_modes = 0;
  std::uint8_t src_order[kCapacity] = {};
};

/// How packed/staged permutes a tile: the values of the parameter `way`.
enum class PackedWay : std::uint8_t {
  kByShape,   ///< what takes least for the shape of each tile (cpu/packed/ways.h), which whole and cut tiles differ in
  kTable,     ///< unit by unit, by a table of their places
  kPlanes,    ///< plane by plane in registers, row by row
  kGrouped,   ///< the same, a group of rows at a time
  kShuffles,  ///< by a list of shuffles
  kRepeats,   ///< small matrices, one behind the other, by one shuffle of each vector; not past the caches
};

/// A task is a tile.
struct PackedArgs : CommonArgs {
  KernelCode<PackedArgs> kernel = nullptr;
  /// Bytes from the base of src that may be read along behind a tile; less than any offset where none may.
  std::int64_t src_end = INT64_MIN / 2;
  PackedWay way = PackedWay::kByShape;
  Packed packed;
  Nest nest;  ///< outer modes, blocks included
};

}  // namespace restride::cpu
