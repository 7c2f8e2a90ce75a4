// A tile's rows of src on their way into shared memory, wherever they start: for the kernels whose rows need not lie on
// words.
#pragma once

#include "src/cuda/device.cuh"
#include "src/cuda/tile/map.h"

namespace restride::cuda {

/// Blocks a multiprocessor is to hold. On H200 more of 128 threads lose a little, fewer of 512 much.
inline constexpr int kTileResident = 5;

/// Reads the tile's rows of src into shared memory; `from` is where local row 0 would lie, `tile` where it goes to.
template <int kSrc, int kUnits>
__device__ inline void load_tile(const TileArgs& a, std::uint32_t tile, const char* from, const char* src, int d,
                                 int s) {
  const int first_row = a.halo != 0 ? 1 : 0;  // a skew is at most the halo less one unit
  const int rows = a.halo + a.tile_d;
  const int row_bytes = min(a.tile_s, a.s_extent - s) * kSrc;
  const int items = rows * static_cast<int>(a.row_words.divisor);
  const char* const first = src + a.src_first;
  const char* const last = src + a.src_last;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += kTileThreads) {
    const TileLoad at = tile_load(a, item);
    const int row_d = d - a.halo + at.row;
    if (at.row < first_row || row_d < 0 || row_d >= a.d_extent) continue;
    const char* const row = from + at.row * a.src_pitch;
    const int off = at.word * 16 - nibble(row);
    if (off >= row_bytes) continue;
    stage_word<(kSrc > 1)>(tile + tile_row_base(a, at.row, kUnits) + off, row + off, first, last);
  }
}

}  // namespace restride::cuda
