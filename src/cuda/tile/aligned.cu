// Moves         two modes, one contiguous in each side, where every row lies on 16-byte words; converts all dtypes.
// Applies when  pitches, offsets and addresses are multiples of 16 bytes; extents are any.
// Thread map    256 threads a tile: load, 16 bytes a lane along src's rows; store, 16 bytes a lane, 8 x 4 or 16 x 2
//               lanes a warp (tile_store_log).
// Shared memory lines of 128 bytes, swizzled; see tile_stage_byte in src/cuda/tile/map.h. No bank conflicts, but two
//               cycles a read where a warp stores 256 bytes of a row.
// Traffic       every byte once each way, 128 bytes of a row at least.
// Source        the lab's rung `vector` (docs/lab.md); measured rows in bench/results.
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/stage.cuh"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

template <class Tile, bool kCast, int kBlocks>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kBlocks))
    tile_aligned_kernel(const __grid_constant__ TileArgs a, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  const Offsets batch = offsets(a.batch, place.batch);
  const char* const from =
      src + a.src_offset + batch.src + place.d * a.src_pitch + static_cast<std::int64_t>(place.s) * Tile::kSrc;
  const std::uint32_t stage = shared_address(shared);
  constexpr int kWordUnits = kWordBytes / Tile::kSrc;
  const int column = threadIdx.x % Tile::kRowWords, row = threadIdx.x / Tile::kRowWords, byte = column * 16;
  const int rows = a.d_extent - place.d, left = tile_units_left(a, place, column * kWordUnits);
  constexpr int kRowsAStep = kTileThreads / Tile::kRowWords;
  const char* word = from + row * a.src_pitch + byte;
  const std::int64_t step_bytes = kRowsAStep * a.src_pitch;
  uint4 words[Tile::kLoads];
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step, word += step_bytes) {
    if (row + step * kRowsAStep >= rows || left <= 0) continue;
    const bool whole = left >= kWordUnits || word + 16 <= src + a.src_last;
    words[step] = whole ? load_kept(word) : load_part(word, src + a.src_first, src + a.src_last);
  }
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step)
    store_shared(stage + tile_stage_byte(row + step * kRowsAStep, byte, Tile::kUnits, Tile::kD), words[step]);
  __syncthreads();
  write_tile<Tile, kCast>(a, stage, place,
                          PitchedRows{dst + a.dst_offset + batch.dst + place.s * a.dst_pitch, a.dst_pitch});
}

template <class Tile, bool kCast>
int launch_tile_of(const TileArgs& a, const Launch& on) noexcept {
  // Five blocks a multiprocessor: on H200 eight, with half the registers, lose a little.
  return enqueue(tile_aligned_kernel<Tile, kCast, 5>, a, on, a.tiles, kTileThreads, Tile::kStageBytes);
}

template <int kSrc, int kDst>
int launch_cast(const TileArgs& a, const Launch& on) noexcept {
  constexpr TileShape kShape = tile_cast_shape(kDst, kSrc);
  // A plan for bulk tensor copies has tiles of its own, and comes here when the driver cannot describe the source.
#define RESTRIDE_X(src_bytes, dst_bytes, along_d, along_s)                                               \
  if constexpr (kSrc == src_bytes && kDst == dst_bytes && !(along_d == kShape.d && along_s == kShape.s)) \
    if (a.tile_d == along_d && a.tile_s == along_s)                                                      \
      return launch_tile_of<TileOf<kSrc, kDst, along_d, along_s>, true>(a, on);
  RESTRIDE_BULK_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
  if (a.tile_d != kShape.d || a.tile_s != kShape.s) return static_cast<int>(cudaErrorInvalidValue);
  return launch_tile_of<TileOf<kSrc, kDst, kShape.d, kShape.s>, true>(a, on);
}

}  // namespace

int launch_aligned_tiles(const TileArgs& a, const Units& units, const Launch& on) noexcept {
  if (units.cast) return with_cast_sizes(units, [&]<int kSrc, int kDst>() { return launch_cast<kSrc, kDst>(a, on); });
#define RESTRIDE_X(unit, d, s)                             \
  if (units.dst == unit && a.tile_d == d && a.tile_s == s) \
    return launch_tile_of<TileOf<unit, unit, d, s>, false>(a, on);
  RESTRIDE_TILE_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

int launch_tile_aligned(const CudaArgs& args, const Launch& on) noexcept {
  return launch_aligned_tiles(std::get<TileArgs>(args.args), args.units, on);
}

}  // namespace restride::cuda
