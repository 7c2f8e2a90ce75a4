// Moves         the copies of tile_aligned, including casts that widen to at most 4 bytes; bulk tensor copies (TMA)
//               bring the tiles in.
// Applies when  sm_90 and later; rows on words, at most two outer modes, strides of src positive, whole groups of rows.
// Thread map    one thread starts the copies; all 256 gather and store as in tile_aligned. A block moves several tiles,
//               one after the other in the tiles' order, and has the next ones on their way meanwhile.
// Shared memory a ring of stages of one tile each, swizzled by the copy engine as the gather wants it.
// Traffic       as tile_aligned, without load requests of the threads.
// Source        the lab's rungs `tma` and `tma_ring`; measured rows in bench/results.
#include <cuda.h>

#include "src/cuda/bulk.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/stage.cuh"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

struct BulkArgs {
  CUtensorMap source;  // the hardware wants 64 bytes of alignment
  TileArgs tile;
};

template <class Tile>
__device__ inline void fetch_tile(const BulkArgs& b, std::uint32_t tile, std::uint32_t stage, std::uint32_t arrival) {
  const TilePlace place = tile_place(b.tile, tile);
  expect_bytes(arrival, Tile::kStageBytes);
#pragma unroll
  for (int box = 0; box < Tile::kBoxes; ++box)
    copy_box(stage + box * Tile::kBoxBytes, &b.source, tile_box(b.tile, place, box, Tile::kSrc, Tile::kUnits).at,
             arrival);
}

template <class Tile, bool kCast, int kStages, int kBlocks>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kBlocks))
    tile_bulk_kernel(const __grid_constant__ BulkArgs b, char* dst, const char*) {
  extern __shared__ __align__(1024) char stages[];  // the swizzle repeats every eight lines
  __shared__ std::uint64_t arrivals[kStages];
  const TileArgs& a = b.tile;
  const std::uint32_t stage0 = shared_address(stages), arrival0 = shared_address(arrivals);
  const bool leader = threadIdx.x == 0;
  if (leader) {
    for (int s = 0; s < kStages; ++s) {
      init_arrival(arrival0 + 8 * s);
      const std::uint32_t tile = blockIdx.x + s * gridDim.x;
      if (tile < a.tiles) fetch_tile<Tile>(b, tile, stage0 + s * Tile::kStageBytes, arrival0 + 8 * s);
    }
  }
  __syncthreads();  // the barriers must be there before anybody waits on them
  int stage = 0;
  unsigned phase = 0;
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const std::uint32_t here = stage0 + stage * Tile::kStageBytes, arrival = arrival0 + 8 * stage;
    const TilePlace place = tile_place(a, tile);
    const Offsets batch = offsets(a.batch, place.batch);
    wait_arrival(arrival, phase);
    write_tile<Tile, kCast>(a, here, place,
                            PitchedRows{dst + a.dst_offset + batch.dst + place.s * a.dst_pitch, a.dst_pitch});
    if (kStages == 1) return;  // a tile a block
    const std::uint32_t next = tile + kStages * gridDim.x;
    if (next < a.tiles) {
      __syncthreads();  // all threads have read their units
      if (leader) fetch_tile<Tile>(b, next, here, arrival);
    }
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
}

using Encode = CUresult(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                        const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                        CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/// Tells the copy engine where the source lies.
template <class Tile>
CUresult describe(const TileArgs& a, const void* src, Encode* encode, CUtensorMap* map) noexcept {
  const TileTensor t = tile_tensor(a, Tile::kSrc, Tile::kUnits);
  cuuint64_t extent[5], stride_bytes[4];
  for (int m = 0; m < 5; ++m) extent[m] = static_cast<cuuint64_t>(t.extent[m]);
  for (int m = 1; m < 5; ++m) stride_bytes[m - 1] = static_cast<cuuint64_t>(t.stride_bytes[m]);
  const cuuint32_t box[5] = {kLineBytes, Tile::kGroups, Tile::kUnits, 1, 1};
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  return encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 5, const_cast<char*>(static_cast<const char*>(src) + a.src_offset),
                extent, stride_bytes, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/// Launches by bulk copies, or by ordinary loads when the driver cannot describe the source.
template <class Tile, bool kCast, int kStages>
int launch_tile_of(const TileArgs& a, const Units& units, const Launch& on) noexcept {
  BulkArgs b;
  b.tile = a;
  if (on.encode_tensor_map == nullptr ||
      describe<Tile>(a, on.src, reinterpret_cast<Encode*>(on.encode_tensor_map), &b.source) != CUDA_SUCCESS)
    return launch_aligned_tiles(a, units, on);
  constexpr int kShared = kStages * Tile::kStageBytes;
  static_assert(kShared <= 48 << 10, "more needs cudaFuncSetAttribute");
  static_assert(Tile::kStageBytes % 1024 == 0, "the swizzle repeats every eight lines");
  constexpr int kBlocks = kStages == 1 && Tile::kStageBytes <= 16 << 10 ? 6 : 5;
  const unsigned blocks = kStages == 1 ? a.tiles : a.blocks;
  return enqueue(tile_bulk_kernel<Tile, kCast, kStages, kBlocks>, b, on, blocks, kTileThreads, kShared);
}

}  // namespace

int launch_tile_bulk(const CudaArgs& args, const Launch& on) noexcept {
  const auto& [a, stages] = std::get<BulkTileArgs>(args.args);
  const Units& units = args.units;
  if (units.cast) {
#define RESTRIDE_X(src_u, dst_u, d, s)                                            \
  if (units.src == src_u && units.dst == dst_u && a.tile_d == d && a.tile_s == s) \
    return launch_tile_of<TileOf<src_u, dst_u, d, s>, true, 1>(a, units, on);
    RESTRIDE_BULK_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
    return static_cast<int>(cudaErrorInvalidValue);
  }
#define RESTRIDE_X(unit, d, s, ring)                                         \
  if (units.dst == unit && a.tile_d == d && a.tile_s == s && stages == ring) \
    return launch_tile_of<TileOf<unit, unit, d, s>, false, ring>(a, units, on);
  RESTRIDE_BULK_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

}  // namespace restride::cuda
