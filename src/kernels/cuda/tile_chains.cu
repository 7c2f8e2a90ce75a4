// Moves         what tile_aligned moves without a cast, where several short modes make up dst's rows, or src's.
// Applies when  modes form a dense chain on each side, no mode is in both, and every row of both sides lies on words.
// Thread map    as tile_aligned.
// Shared memory as tile_aligned, and the offsets of the tile's rows on both sides, worked out by one thread each.
// Traffic       every byte once each way, 128 bytes of a row at least, however short the modes are.
// Source        the CPU's tile family, whose rows and columns are chains as well; measured rows in bench/results.
#include "src/kernels/cuda/families.h"
#include "src/kernels/cuda/tile_stage.cuh"
#include "src/maps/chain.h"

namespace restride::cuda {
namespace {

using maps::ChainArgs;

template <class Tile>
__global__ void __launch_bounds__(maps::kTileThreads, 5)
    tile_chains_kernel(const __grid_constant__ ChainArgs c, char* dst, const char* src) {
  const maps::TileArgs& a = c.tile;
  extern __shared__ __align__(128) char shared[];
  __shared__ std::int64_t src_rows[Tile::kD], dst_rows[Tile::kS];
  const maps::TilePlace place = maps::tile_place(a, blockIdx.x);
  const int rows = a.d_extent - place.d, row_bytes = (a.s_extent - place.s) * Tile::kSrc;
  for (int i = threadIdx.x; i < Tile::kD + Tile::kS; i += maps::kTileThreads) {
    if (i < Tile::kD)
      src_rows[i] = maps::chain_offset(c.src_rows, place.d + i);
    else
      dst_rows[i - Tile::kD] = maps::chain_offset(c.dst_rows, place.s + (i - Tile::kD));
  }
  const maps::Offsets batch = maps::offsets(a.batch, place.batch);
  const int byte = threadIdx.x % Tile::kRowWords * 16, row = threadIdx.x / Tile::kRowWords;
  constexpr int kRowsAStep = maps::kTileThreads / Tile::kRowWords;
  const char* const from = src + a.src_offset + batch.src + static_cast<std::int64_t>(place.s) * Tile::kSrc + byte;
  const std::uint32_t stage = shared_address(shared);
  __syncthreads();
  uint4 words[Tile::kLoads];
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step) {
    if (row + step * kRowsAStep >= rows || byte >= row_bytes) continue;
    const char* const word = from + src_rows[row + step * kRowsAStep];
    const bool whole = byte + 16 <= row_bytes || word + 16 <= src + a.src_last;
    words[step] = whole ? load<16>(word) : load_part(word, src + a.src_first, src + a.src_last);
  }
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step)
    store_shared(stage + maps::tile_stage_byte(row + step * kRowsAStep, byte, Tile::kUnits, Tile::kD), words[step]);
  __syncthreads();
  char* const to = dst + a.dst_offset + batch.dst;
  write_tile<Tile, false>(a, stage, place, [&](int s) { return to + dst_rows[s]; });
}

}  // namespace

int launch_tile_chains(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept {
  const auto& c = std::get<ChainArgs>(args.args);
#define RESTRIDE_X(unit, d, s)                                                                                  \
  if (args.key.dst_unit == unit && c.tile.tile_d == d && c.tile.tile_s == s)                                    \
    return enqueue(tile_chains_kernel<TileOf<unit, unit, d, s>>, c, dst, src, c.tile.tiles, maps::kTileThreads, \
                   TileOf<unit, unit, d, s>::kStageBytes, stream);
  RESTRIDE_TILE_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

}  // namespace restride::cuda
