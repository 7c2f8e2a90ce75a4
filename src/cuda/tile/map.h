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

#include "src/cuda/walk.h"
#include "src/plan/tile_order.h"

namespace restride::cuda {

inline constexpr int kTileThreads = 256;
inline constexpr int kWordBytes = 16;

using plan::TileOrder;

struct TileArgs {
  Walk batch;
  std::uint32_t tiles = 0;                  ///< tiles_d * tiles_s * batch
  std::int32_t d_extent = 0, s_extent = 0;  ///< below 2^30
  std::int64_t src_pitch = 0;               ///< bytes from d to d + 1 in src, any sign
  std::int64_t dst_pitch = 0;               ///< bytes from s to s + 1 in dst, any sign
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t src_first = 0, src_last = 0;  ///< bytes relative to src that belong to the source
  std::int32_t tile_d = 0, tile_s = 0;       ///< units
  std::int32_t halo = 0;                     ///< rows of src before the tile's first, a multiple of the units of a word
  std::int32_t skew_mask = 0;                ///< 0: rows of dst start on a word; else boundary - 1 in bytes
  std::int32_t row_pitch = 0;                ///< bytes from row to row in shared memory
  std::int32_t group_pad = 0;                ///< bytes more after every word's worth of rows
  base::FastDiv row_words;                   ///< words that cover a row of src wherever it starts
  base::FastDiv tiles_d, tiles_s;            ///< tiles along each mode
  base::FastDiv near_batches;                ///< index tuples of the near outer modes
  TileOrder order = TileOrder::kDst;
  std::uint32_t blocks = 0;  ///< blocks launched: block b moves tiles b, b + blocks, b + 2 blocks ...
  std::uint8_t src_dtype = 0, dst_dtype = 0;
};

/// Tiles that bulk tensor copies bring in.
struct BulkTileArgs {
  TileArgs tile;
  std::int32_t stages = 1;  ///< tiles on their way to a block, or in it
};

/// Units of a tile along each mode.
struct TileShape {
  std::int32_t d = 0, s = 0;
};

// X(bytes of a unit, units along d, units along s): the instances of the kernels for rows on words.
#define RESTRIDE_TILE_SHAPES(X) \
  X(1, 128, 128)                \
  X(1, 128, 256)                \
  X(1, 256, 128)                \
  X(2, 64, 64)                  \
  X(2, 64, 128)                 \
  X(2, 128, 64)                 \
  X(2, 256, 64)                 \
  X(4, 32, 32) X(4, 64, 32) X(4, 64, 64) X(4, 128, 32) X(8, 32, 32) X(8, 64, 32) X(16, 16, 16) X(16, 32, 16)

// X(bytes of a unit, 16-byte words along d, units along s): the instances of the kernels for rows that start anywhere;
// tile/registers has the same for units of 1 and 2 bytes.
#define RESTRIDE_UNALIGNED_SHAPES(X) \
  X(1, 8, 128)                       \
  X(1, 8, 256)                       \
  X(2, 8, 64) X(2, 8, 128) X(4, 8, 32) X(4, 16, 64) X(4, 16, 128) X(8, 16, 32) X(8, 16, 64)

// X(bytes of a unit, units along d, units along s, stages of the ring): the instances of tile/bulk.
#define RESTRIDE_BULK_SHAPES(X) \
  X(1, 128, 128, 1)             \
  X(1, 128, 256, 1)             \
  X(1, 128, 128, 2)             \
  X(2, 64, 64, 1) X(2, 64, 128, 1) X(2, 128, 64, 2) X(4, 64, 32, 1) X(4, 64, 64, 1) X(8, 32, 32, 1) X(16, 32, 16, 1)

// X(bytes of src's unit, of dst's, units along d, units along s): where bulk tensor copies pay for a cast.
#define RESTRIDE_BULK_CASTS(X) X(1, 2, 128, 128) X(1, 4, 64, 128) X(2, 4, 64, 64)

/// The shape of the kernels that convert: rows of 128 to 512 bytes on both sides.
RESTRIDE_HD constexpr TileShape tile_cast_shape(int dst_unit, int src_unit) {
  const int words = dst_unit == 1 || (dst_unit == 2 && src_unit == 2) ? 8 : 16;
  const int along_s = src_unit <= 2 ? 128 : src_unit == 4 || dst_unit == 16 ? 64 : src_unit == 8 ? 32 : 16;
  return {words * kWordBytes / dst_unit, along_s};
}

/// Where a block's tile lies: first unit of each mode (d before the skew) and the batch number.
struct TilePlace {
  std::int32_t d = 0, s = 0;
  std::uint32_t batch = 0;
};

RESTRIDE_HD constexpr TilePlace tile_place(const TileArgs& a, std::uint32_t tile) {
  const auto next = [&tile](const base::FastDiv& count) {
    const std::uint32_t rest = count.quotient(tile), digit = tile - rest * count.divisor;
    tile = rest;
    return digit;
  };
  std::uint32_t near = a.order == TileOrder::kNear ? next(a.near_batches) : 0;
  std::uint32_t s = a.order == TileOrder::kSrc ? next(a.tiles_s) : 0;
  const std::uint32_t d = next(a.tiles_d);
  if (a.order != TileOrder::kNear) near = next(a.near_batches);
  if (a.order != TileOrder::kSrc) s = next(a.tiles_s);
  return {static_cast<std::int32_t>(d) * a.tile_d, static_cast<std::int32_t>(s) * a.tile_s,
          tile * a.near_batches.divisor + near};
}

/// Units of a row of src that are left from unit `unit` of its tile on; none are inside where that is not positive.
/// Units and not bytes, for a row may have more bytes than 31 bits count.
RESTRIDE_HD constexpr std::int32_t tile_units_left(const TileArgs& a, const TilePlace& place, std::int32_t unit) {
  return a.s_extent - place.s - unit;
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
/// with rows of shared memory an odd multiple of 16 bytes apart per word, that is free of bank conflicts where the four
/// rows of dst have one skew. With unlike skews their words begin in unlike rows of src, and lanes may meet in a bank.
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

// ---- Where rows of both sides lie on words: the tile as lines of 128 bytes ----
//
// A tile's row of src is one or more lines; all first lines form a box, all second ones the next. In a box the lines
// of the rows that share a word of dst (a group) lie as far apart as there are groups, so that a group's number is
// its line's number modulo 8; the word within the line is XORed with that. This is the order and the swizzle in
// which Hopper's bulk tensor copy delivers boxes of (128 bytes, groups, rows of a group).

inline constexpr int kLineBytes = 128;

/// Byte of shared memory that holds byte `byte` of local row `row` of src. `units` rows share a word of dst;
/// `tile_d` / `units` is a multiple of 8.
RESTRIDE_HD constexpr std::uint32_t tile_stage_byte(std::uint32_t row, std::uint32_t byte, std::uint32_t units,
                                                    std::uint32_t tile_d) {
  const std::uint32_t line = row % units * (tile_d / units) + row / units;
  const std::uint32_t word = byte / kWordBytes % 8 ^ (line & 7);
  return byte / kLineBytes * (tile_d * kLineBytes) + line * kLineBytes + word * kWordBytes + byte % kWordBytes;
}

/// Lanes, as a power of two, that write side by side in a row of dst, of whose `groups` words `words` are inside dst:
/// 256 bytes where there are so many. What reaches DRAM in halves costs more than the second cycle that shared memory
/// takes for 16 lanes of one row.
RESTRIDE_HD constexpr std::int32_t tile_store_log(std::int32_t groups, std::int32_t words) {
  if (groups < 8) return groups == 4 ? 2 : 1;
  return groups % 16 == 0 && words > 8 ? 4 : 3;
}

/// What thread `thread` of `threads` stores in its step `step`: word `word` of a row of dst, and which of the tile's
/// rows (`rows`, counted in as many as a lane makes at once).
RESTRIDE_HD constexpr TileStore tile_line_store(std::uint32_t step, std::uint32_t thread, std::uint32_t threads,
                                                std::int32_t log, std::uint32_t rows) {
  const std::uint32_t row = (thread >> log) + step * (threads >> log);
  return {static_cast<std::int32_t>((row / rows << log) + (thread & ((1u << log) - 1))),
          static_cast<std::int32_t>(row % rows)};
}

// ---- The same tile, brought in by Hopper's bulk tensor copies ----

/// The source as the copy engine sees it: (byte along s, group of rows, row of the group, outer, outer), innermost
/// first. A box of (128 bytes, the tile's groups, all rows of a group, 1, 1) arrives in the order of tile_stage_byte.
struct TileTensor {
  std::int64_t extent[5] = {};
  std::int64_t stride_bytes[5] = {};
};
inline constexpr int kMaxBulkOuter = 2;  ///< outer modes that the tensor has room for

RESTRIDE_HD constexpr TileTensor tile_tensor(const TileArgs& a, int src_unit, int units) {
  TileTensor t{{std::int64_t{a.s_extent} * src_unit, a.d_extent / units, units, 1, 1},
               {1, a.src_pitch * units, a.src_pitch, kWordBytes, kWordBytes}};
  for (int m = 0; m < a.batch.rank && m < kMaxBulkOuter; ++m) {
    t.extent[3 + m] = a.batch.extent[m].divisor;
    t.stride_bytes[3 + m] = a.batch.src_stride[m];
  }
  return t;
}

/// The corner of box `box` of a tile in that tensor.
struct TileBox {
  std::int32_t at[5] = {};
};
RESTRIDE_HD constexpr TileBox tile_box(const TileArgs& a, const TilePlace& place, int box, int src_unit, int units) {
  const std::uint32_t second = a.batch.rank > 1 ? a.batch.extent[0].quotient(place.batch) : 0;
  const std::uint32_t first = a.batch.rank > 1 ? place.batch - second * a.batch.extent[0].divisor : place.batch;
  return {{place.s * src_unit + box * kLineBytes, place.d / units, 0, static_cast<std::int32_t>(first),
           static_cast<std::int32_t>(second)}};
}

}  // namespace restride::cuda
