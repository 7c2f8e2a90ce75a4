// Moves:         the transpose, tiles brought in by the bulk tensor copy engine into a ring of stages.
// Applies when:  sm_90 and later, rows of both sides multiples of 16 bytes; else along_dst's.
// Thread map:    as many blocks as fit the card, each taking every gridDim-th tile; within a tile as tma.
// Shared memory: kStages tiles, refilled as soon as all threads have gathered; no conflicts.
// Traffic:       no load requests at all; 16 sectors a store; kStages tiles a block in flight at any time.
// Source and measured: the pipeline that matrix products use; docs/lab.md.
#include "lab/maps/bulk.h"
#include "lab/maps/lanes.h"
#include "lab/rungs/bulk_copy.cuh"
#include "lab/rungs/tensor_map.cuh"
#include "lab/rungs/vector.cuh"

namespace restride::lab {
namespace {

constexpr int kStages = 4;

}  // namespace

template <class Map>
__global__ void __launch_bounds__(Map::kThreads)
    tma_ring_rung(Map map, const __grid_constant__ CUtensorMap source, void* __restrict__ dst, int tiles) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(1024) char stages[];
  __shared__ std::uint64_t arrival[kStages];
  const bool leader = threadIdx.x == 0;
  if (leader) {
    for (int s = 0; s < kStages; ++s) init_arrival(shared_address(&arrival[s]));
    for (int s = 0; s < kStages; ++s) {
      const std::int64_t tile = blockIdx.x + std::int64_t{gridDim.x} * s;
      if (tile < tiles) fetch_tile(map, &source, static_cast<int>(tile), stages + s * Map::kStageBytes, &arrival[s]);
    }
  }
  __syncthreads();

  int stage = 0;
  unsigned phase = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    char* const here = stages + stage * Map::kStageBytes;
    wait_arrival(shared_address(&arrival[stage]), phase);
    std::uint32_t words[Map::kCells][Map::kV];
#pragma unroll
    for (int cell = 0; cell < Map::kCells; ++cell) gather_cell(map, here, cell, words[cell]);
    __syncthreads();  // all have what they need: the engine may refill the stage while they store
    const std::int64_t next = tile + std::int64_t{gridDim.x} * kStages;
    if (leader && next < tiles) fetch_tile(map, &source, static_cast<int>(next), here, &arrival[stage]);
#pragma unroll
    for (int cell = 0; cell < Map::kCells; ++cell) {
      std::uint32_t vectors[Map::kK][4];
      transpose_cell<Map::kElementBytes>(words[cell], vectors);
      store_cell(map, static_cast<int>(tile), cell, vectors, dst);
    }
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
#endif
}

namespace {

template <class Map>
void launch_ring(const Job& job) {
  constexpr int kRingBytes = kStages * Map::kStageBytes;
  static_assert(Map::kStageBytes % 1024 == 0, "the swizzle repeats every eight lines of 128 bytes");
  const auto kernel = tma_ring_rung<Map>;
  int device = 0, processors = 0, blocks_a_processor = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRingBytes);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_a_processor, kernel, Map::kThreads, kRingBytes);
  const Map map(job.shape);
  const unsigned tiles = grid_of(map.tiles());
  const unsigned resident = static_cast<unsigned>(processors * blocks_a_processor);
  const unsigned blocks = tiles < resident ? tiles : resident;
  if (blocks == 0) return;
  kernel<<<blocks, Map::kThreads, kRingBytes, job.stream>>>(map, describe<Map>(job), job.dst, static_cast<int>(tiles));
}

}  // namespace

void launch_tma_ring(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Bulk<bytes()>;
    if (!Map::fits(job.shape) || !has_copy_engine(tma_ring_rung<Map>)) return launch_along_dst(job);
    launch_ring<Map>(job);
  });
}

}  // namespace restride::lab
