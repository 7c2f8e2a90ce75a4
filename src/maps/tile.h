// The index map of the tile family: two modes, one contiguous in dst ("d"), the other in src ("s"), batched over the
// rest.
//
// A block moves a tile of `tile_d` x `tile_s` units through shared memory. It reads rows of src (fixed d) as aligned
// 16-byte words that cover them, whatever their alignment: a row's place in shared memory is congruent to its address
// modulo 16, because the row pitch there is congruent to the pitch in src. It writes rows of dst (fixed s) as aligned
// 16-byte words; where a row of dst starts off a boundary, the tile's edge moves with it ("skew"), and the tile reads
// up to `halo` more rows of src, so that no two blocks write into one word.
#pragma once

#include <cstdint>

#include "src/maps/walk.h"

namespace restride::maps {

inline constexpr int kTileThreads = 256;
inline constexpr int kWordBytes = 16;

struct TileArgs {
  Walk batch;
  base::FastDiv tiles_d, tiles_s;  ///< tiles along each mode
  std::uint32_t tiles = 0;         ///< blocks: tiles_d * tiles_s * batch
  std::int32_t d_extent = 0, s_extent = 0;
  std::int64_t src_pitch = 0;      ///< bytes from d to d + 1 in src, any sign
  std::int64_t dst_pitch = 0;      ///< bytes from s to s + 1 in dst, any sign
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t src_first = 0, src_last = 0;  ///< bytes relative to src that belong to the source
  std::int32_t tile_d = 0, tile_s = 0;       ///< units
  std::int32_t halo = 0;           ///< rows of src before the tile's first, a multiple of the units of a word
  std::int32_t skew_mask = 0;      ///< 0: rows of dst start on a word; else boundary - 1 in bytes
  std::int32_t row_pitch = 0;      ///< bytes from row to row in shared memory
  std::int32_t group_pad = 0;      ///< bytes more after every word's worth of rows
  base::FastDiv row_words;         ///< words that cover a row of src wherever it starts
  std::uint8_t along_src = 0;      ///< neighbouring blocks follow each other along s instead of d
  std::uint8_t src_dtype = 0, dst_dtype = 0;
};

/// Units of a tile along each mode.
struct TileShape {
  std::int32_t d = 0, s = 0;
};

/// The shape of the kernels that convert: rows of 128 or 256 bytes on both sides.
RESTRIDE_HD constexpr TileShape tile_cast_shape(int dst_unit, int src_unit) {
  const int words = dst_unit == 1 ? 8 : 16;
  return {words * kWordBytes / dst_unit, src_unit <= 2 ? 128 : src_unit == 4 ? 64 : 32};
}

/// Where a block's tile lies: first unit of each mode (d before the skew) and the batch number.
struct TilePlace {
  std::int32_t d = 0, s = 0;
  std::uint32_t batch = 0;
};

RESTRIDE_HD constexpr TilePlace tile_place(const TileArgs& a, std::uint32_t block) {
  const base::FastDiv& fast = a.along_src ? a.tiles_s : a.tiles_d;
  const base::FastDiv& slow = a.along_src ? a.tiles_d : a.tiles_s;
  const std::uint32_t rest = fast.quotient(block);
  const std::uint32_t f = block - rest * fast.divisor;
  const std::uint32_t batch = slow.quotient(rest);
  const std::uint32_t l = rest - batch * slow.divisor;
  const std::uint32_t d = a.along_src ? l : f;
  const std::uint32_t s = a.along_src ? f : l;
  return {static_cast<std::int32_t>(d) * a.tile_d, static_cast<std::int32_t>(s) * a.tile_s, batch};
}

/// Word number `item` of the tile's source rows: local row and word within it.
struct TileLoad {
  std::int32_t row = 0, word = 0;
};
RESTRIDE_HD constexpr TileLoad tile_load(const TileArgs& a, std::uint32_t item) {
  const std::uint32_t row = a.row_words.quotient(item);
  return {static_cast<std::int32_t>(row), static_cast<std::int32_t>(item - row * a.row_words.divisor)};
}

/// Place in shared memory of byte 0 of local row `row`, less the low four bits of the tile's source address.
/// `units` = units of dst in a word.
RESTRIDE_HD constexpr std::int32_t tile_row_base(const TileArgs& a, std::int32_t row, int units) {
  return row * a.row_pitch + row / units * a.group_pad;
}

/// Shared memory a tile takes.
RESTRIDE_HD constexpr std::int32_t tile_shared_bytes(const TileArgs& a, int units) {
  return tile_row_base(a, a.halo + a.tile_d, units) + 2 * kWordBytes;
}

/// Word number `item` of the tile's destination rows. Eight lanes write 128 bytes of a row, four rows a warp:
/// with rows of shared memory an odd multiple of 16 bytes apart per word, that is free of bank conflicts.
struct TileStore {
  std::int32_t word = 0, s = 0;
};
RESTRIDE_HD constexpr TileStore tile_store(std::int32_t item, std::int32_t row_groups, std::int32_t s_count) {
  // row_groups: 128-byte pieces of a destination row in the tile. Pieces of one row are far apart in item number.
  const std::int32_t lane_word = item % 8;
  const std::int32_t s = item / 8 % s_count;
  const std::int32_t group = item / 8 / s_count;
  return {group * 8 + lane_word, group < row_groups ? s : s_count};
}

}  // namespace restride::maps
