// A staged tile on its way into dst, for the kernels whose rows all lie on words: from lines of shared memory
// (src/cuda/tile/map.h) to whole words.
#pragma once

#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/tile/map.h"

namespace restride::cuda {

/// A tile kernel's instance: bytes of a unit on each side, and units of the tile.
template <int src_unit, int dst_unit, int tile_d, int tile_s>
struct TileOf {
  static constexpr int kSrc = src_unit, kDst = dst_unit, kD = tile_d, kS = tile_s;
  static constexpr int kUnits = kWordBytes / kDst;         ///< rows of src a word of dst needs
  static constexpr int kAcross = kSrc < 4 ? 4 / kSrc : 1;  ///< rows of dst a lane makes at once
  static constexpr int kRowBytes = kS * kSrc, kRowWords = kRowBytes / kWordBytes;
  static constexpr int kGroups = kD / kUnits;
  static constexpr int kBoxes = kRowBytes / kLineBytes, kBoxBytes = kD * kLineBytes;
  static constexpr int kStageBytes = kD * kRowBytes;
  static constexpr int kLoads = kD * kRowWords / kTileThreads;
  static constexpr int kStores = kGroups * kS / kAcross / kTileThreads;
  static_assert(kRowBytes % kLineBytes == 0 && kGroups % 8 == 0);
  static_assert(kLoads * kTileThreads == kD * kRowWords && kStores * kTileThreads == kGroups * kS / kAcross);
};

/// Stores the word at unit `d` of the row at `row`, as far as the row reaches.
template <int kUnit>
__device__ inline void store_word(char* row, int d, int d_extent, const uint4& word) {
  char* const to = row + static_cast<std::int64_t>(d) * kUnit;
  if ((d + kWordBytes / kUnit) <= d_extent)
    store<16>(to, word);
  else
    store_part<kUnit>(to, word, 0, (d_extent - d) * kUnit);
}

/// Writes the tile in `stage` to dst; `row_of(s)` is unit 0 along d of the tile's row `s` of dst.
template <class Tile, bool kCast, class RowOf>
__device__ inline void write_tile(const TileArgs& a, std::uint32_t stage, const TilePlace& place, RowOf row_of) {
  constexpr int kUnits = Tile::kUnits, kAcross = Tile::kAcross;
  constexpr int kRowsApart = Tile::kGroups * kLineBytes;  // from a row of src to the next of its group
  const int log = tile_store_log(Tile::kGroups, (a.d_extent - place.d + kUnits - 1) / kUnits);
#pragma unroll(kCast ? 1 : Tile::kStores)
  for (int step = 0; step < Tile::kStores; ++step) {
    const TileStore at = tile_line_store(step, threadIdx.x, kTileThreads, log, Tile::kS / kAcross);
    const int s = at.s * kAcross, d = place.d + at.word * kUnits;
    if (d >= a.d_extent || place.s + s >= a.s_extent) continue;
    const std::uint32_t address = stage + tile_stage_byte(at.word * kUnits, s * Tile::kSrc, kUnits, Tile::kD);
    if constexpr (kAcross == 1) {
      Bits<Tile::kSrc> units[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = load_shared<Tile::kSrc>(address + j * kRowsApart);
      store_word<Tile::kDst>(row_of(s), d, a.d_extent, finish_word<Tile::kSrc, Tile::kDst, kCast>(a, units));
    } else if constexpr (kCast) {
      // A lane reads 4 bytes of each row of src: units of several rows of dst.
      std::uint32_t in[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) in[j] = load_shared<4>(address + j * kRowsApart);
      uint4 out[kAcross];
      finish_block<Tile::kSrc, Tile::kDst>(a, in, out);
#pragma unroll
      for (int i = 0; i < kAcross; ++i) {
        if (place.s + s + i >= a.s_extent) break;
        store_word<Tile::kDst>(row_of(s + i), d, a.d_extent, out[i]);
      }
    } else {
      // The same, moved as it is.
      std::uint32_t out[kAcross][4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        std::uint32_t in[kAcross], column[kAcross];
#pragma unroll
        for (int j = 0; j < kAcross; ++j) in[j] = load_shared<4>(address + (w * kAcross + j) * kRowsApart);
        transpose_words<Tile::kDst>(in, column);
#pragma unroll
        for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
      }
#pragma unroll
      for (int i = 0; i < kAcross; ++i) {
        if (place.s + s + i >= a.s_extent) break;
        store_word<Tile::kDst>(row_of(s + i), d, a.d_extent, make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]));
      }
    }
  }
}

/// Rows of dst one after the other, as `write_tile` wants them.
struct PitchedRows {
  char* first;
  std::int64_t pitch;
  __device__ char* operator()(int s) const { return first + s * pitch; }
};

}  // namespace restride::cuda
