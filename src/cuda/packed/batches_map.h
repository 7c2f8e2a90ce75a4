// The index map of packed's kernel for batches of matrices: tensors whose modes but the outermost are dense on both
// sides, so that some whole matrices are one run of bytes in src and the same run in dst.
//
// A tile is such a run. Bulk copies bring it in and take it out; in between lanes collect words of dst inside shared
// memory. Where a word's units lie in the tile is the same in every tile: a lane finds it out once and keeps it.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"

namespace restride::cuda {

inline constexpr int kMaxBatchModes = 4;  ///< of a matrix
inline constexpr int kBatchThreads = 256;
inline constexpr int kBatchUnit = 2, kBatchWord = 4;  ///< bytes of a unit, and of a word of dst that a lane collects
/// Bytes of shared memory of one side of a tile, by how many tiles a block has under way: with two, two of each side.
constexpr std::int32_t batch_room(int stages) { return stages == 1 ? 23552 : 11776; }
inline constexpr std::int32_t kBatchEnds = 32;  ///< of them for ends that lie off 16 bytes

struct BatchArgs {
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t bytes = 0;  ///< of each side
  std::int32_t tile_bytes = 0;
  std::int32_t tile_units = 0;
  std::int32_t stages = 1;        ///< tiles that a block has under way, 1 or 2
  std::int32_t rank = 0;          ///< modes of a matrix, innermost in dst first
  std::int32_t matrix_bytes = 0;  ///< what one matrix more adds on both sides
  base::FastDiv extent[kMaxBatchModes];
  std::int32_t step[kMaxBatchModes] = {};  ///< bytes of src that one index more of a mode adds
  std::uint32_t tiles = 0, blocks = 0;
};

/// Of a unit of a tile of dst: the byte of the tile of src that it comes from.
RESTRIDE_HD constexpr std::int32_t batch_source(const BatchArgs& a, std::uint32_t unit) {
  std::int32_t at = 0;
  for (int m = 0; m < a.rank; ++m) {
    const std::uint32_t rest = a.extent[m].quotient(unit);
    at += static_cast<std::int32_t>(unit - rest * a.extent[m].divisor) * a.step[m];
    unit = rest;
  }
  return at + static_cast<std::int32_t>(unit) * a.matrix_bytes;
}

/// A tile on one side: its first byte there, how many it has, and which of them, whole 16-byte words, a bulk copy
/// moves: [first, last). Lanes move the others. What is read may reach beyond the tile, into its neighbours.
struct BatchPart {
  std::int64_t start = 0;
  std::int32_t bytes = 0;
  std::int32_t nibble = 0;  ///< low bits of the address of its first byte, which lies as far into its room
  std::int32_t first = 0, last = 0;

  /// Bytes that lanes move, and the n-th of them.
  RESTRIDE_HD constexpr std::int32_t ends() const {
    return (first > 0 ? first : 0) + (last < bytes ? bytes - last : 0);
  }
  RESTRIDE_HD constexpr std::int32_t end(std::int32_t n) const {
    return n < first ? n : last + n - (first > 0 ? first : 0);
  }
};

/// `data`: the low bits of the address at which the side begins, offset and all. `before`, `behind`: a word that holds
/// bytes of the tile may be moved whole, though it begins before it, or ends behind it.
RESTRIDE_HD constexpr BatchPart batch_part(const BatchArgs& a, std::uint32_t tile, std::uint32_t data, bool before,
                                           bool behind) {
  BatchPart part;
  part.start = std::int64_t{tile} * a.tile_bytes;
  const std::int64_t left = a.bytes - part.start;
  part.bytes = left < a.tile_bytes ? static_cast<std::int32_t>(left) : a.tile_bytes;
  part.nibble = static_cast<std::int32_t>((data + static_cast<std::uint32_t>(part.start)) & 15);
  const std::int32_t over = (part.nibble + part.bytes) & 15;  // bytes of its last word
  part.first = before ? -part.nibble : (16 - part.nibble) & 15;
  part.last = behind ? part.bytes + ((16 - over) & 15) : part.bytes - over;
  if (part.last <= part.first) part.first = part.last = 0;
  return part;
}

RESTRIDE_HD constexpr BatchPart batch_written(const BatchArgs& a, std::uint32_t tile, std::uint32_t data) {
  return batch_part(a, tile, data, false, false);
}

/// Words at the tensor's own ends are not all its own; inside, neighbouring tiles share them.
RESTRIDE_HD constexpr BatchPart batch_read(const BatchArgs& a, std::uint32_t tile, std::uint32_t data) {
  return batch_part(a, tile, data, tile != 0, tile + 1 != a.tiles);
}

}  // namespace restride::cuda
