// The index map of tile's kernel for pixels: a matrix of 3-unit pixels, transposed or turned by a quarter.
//
// A pixel is three units of 1 or 2 bytes that both sides hold side by side, src perhaps in the opposite order; or it is
// a single byte, for matrices whose rows start anywhere. The tile is map.h's with pixels for units: rows of src as
// they lie there, rows of dst that start on sectors, so that the tile's edge moves with them and it reads a few rows of
// src more (`halo`). What is different lies between. A lane takes a patch of pixels, 12 bytes of each of 4 rows of src
// (2 of the widest pixels), moves them to their places by byte permutes, and writes them, again as words, into rows of
// dst in the same shared memory. From there they leave as 16-byte words, moved to where dst's words start. So no byte
// is handled by itself, however rows lie.
#pragma once

#include <cstdint>

#include "src/cuda/tile/map.h"

namespace restride::cuda {

struct PixelTileArgs {
  TileArgs tile;                 ///< its units are pixels
  std::int32_t pixel_bytes = 1;  ///< of three units, or a single byte
  bool backwards = false;        ///< src has the units of a pixel in the opposite order
};

inline constexpr int kPixelRowBytes = 96;  ///< of src a tile's row has
inline constexpr int kPixelGroups = 16;    ///< groups in the widest tile, its halo included

/// Pixels of a lane's patch: along d, and along s.
RESTRIDE_HD constexpr TileShape pixel_patch(int pixel_bytes) {
  return {pixel_bytes % 2 == 0 ? 2 : 4, 12 / pixel_bytes};
}
/// Bytes of dst that the patches of a warp, a group, make up in every row.
RESTRIDE_HD constexpr std::int32_t pixel_group_bytes(int pixel_bytes) { return pixel_bytes % 3 == 0 ? 48 : 16; }
/// Pixels of a group along d.
RESTRIDE_HD constexpr std::int32_t pixel_group(int pixel_bytes) { return pixel_group_bytes(pixel_bytes) / pixel_bytes; }
/// Pixels of a tile's halo: groups that hold a skew's 31 bytes.
RESTRIDE_HD constexpr std::int32_t pixel_halo(int pixel_bytes) {
  return (pixel_bytes % 3 == 0 ? 1 : 2) * pixel_group(pixel_bytes);
}
/// Pixels of a tile along s.
RESTRIDE_HD constexpr std::int32_t pixel_tile_s(int pixel_bytes) { return kPixelRowBytes / pixel_bytes; }

/// What a thread loads: 16 bytes of a row of src, counted from the halo's first; eight lanes a row.
RESTRIDE_HD constexpr TileLoad pixel_load(std::int32_t step, std::int32_t thread) {
  return {step * (kTileThreads / 8) + thread / 8, thread % 8};
}

/// A lane's patch in group `group`: its first row of src, which is its first pixel of dst, and its first row of dst.
struct PixelPatch {
  std::int32_t d = 0, s = 0;
};
RESTRIDE_HD constexpr PixelPatch pixel_place(std::int32_t group, std::int32_t lane, int pixel_bytes) {
  const TileShape patch = pixel_patch(pixel_bytes);
  return {(group * 4 + lane % 4) * patch.d, lane / 4 * patch.s};
}

/// Where row `s` of dst starts in shared memory. 16 bytes after each patch's rows keep the 8 lanes that write the same
/// word of different patches in different banks.
RESTRIDE_HD constexpr std::int32_t pixel_line(std::int32_t s, int pixel_bytes) {
  return s * (kPixelGroups * pixel_group_bytes(pixel_bytes)) + s / pixel_patch(pixel_bytes).s * kWordBytes;
}

/// Shared memory a tile takes: first rows of src, then in their place rows of dst.
RESTRIDE_HD constexpr std::int32_t pixel_shared_bytes(const TileArgs& a, int pixel_bytes) {
  const std::int32_t rows = tile_row_base(a, a.halo + a.tile_d, pixel_patch(pixel_bytes).d) + 3 * kWordBytes;
  const std::int32_t lines = pixel_line(pixel_tile_s(pixel_bytes), pixel_bytes) + 2 * kWordBytes;
  return rows > lines ? rows : lines;
}

/// What a thread stores: 16 lanes write 256 bytes of a row side by side.
RESTRIDE_HD constexpr TileStore pixel_store(std::int32_t word_step, std::int32_t row_step, std::int32_t thread) {
  return {word_step * 16 + thread % 16, row_step * (kTileThreads / 16) + thread / 16};
}

/// The bytes of a row of dst that fill no whole word: the first `head` ones, and all from byte `tail` on.
struct PixelEnds {
  std::int64_t head = 0, tail = 0;
};
RESTRIDE_HD constexpr PixelEnds pixel_ends(std::int64_t row_address, std::int64_t row_bytes) {
  const std::int64_t first = -row_address & (kWordBytes - 1);
  const std::int64_t tail = row_bytes - ((row_address + row_bytes) & (kWordBytes - 1));
  return {first < row_bytes ? first : row_bytes, tail < first ? row_bytes : tail};
}

}  // namespace restride::cuda
