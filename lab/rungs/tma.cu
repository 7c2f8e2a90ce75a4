// Moves:         the transpose, tiles brought in by the bulk tensor copy engine, one tile a block.
// Applies when:  sm_90 and later, rows of both sides multiples of 16 bytes; else along_dst's.
// Thread map:    lab/maps/bulk.h: one thread starts the copies, all 256 gather, turn and store as in vector.
// Shared memory: one tile, swizzled by the engine (128-byte lines) as the gather wants it; no conflicts.
// Traffic:       no load requests at all; 16 sectors a store; the blocks of a processor are its stages.
// Source and measured: what the seed left to do; docs/lab.md.
#include "lab/maps/bulk.h"
#include "lab/maps/lanes.h"
#include "lab/rungs/bulk_copy.cuh"
#include "lab/rungs/tensor_map.cuh"
#include "lab/rungs/vector.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads)
    tma_rung(Map map, const __grid_constant__ CUtensorMap source, void* __restrict__ dst) {
#if __CUDA_ARCH__ >= 900
  __shared__ __align__(1024) char stage[Map::kStageBytes];  // the swizzle repeats every eight lines of 128 bytes
  __shared__ std::uint64_t arrival;
  if (threadIdx.x == 0) {
    init_arrival(shared_address(&arrival));
    fetch_tile(map, &source, blockIdx.x, stage, &arrival);
  }
  __syncthreads();  // the barrier must be there before anybody waits on it
  wait_arrival(shared_address(&arrival), 0);
#pragma unroll
  for (int cell = 0; cell < Map::kCells; ++cell) {
    std::uint32_t words[Map::kV], vectors[Map::kK][4];
    gather_cell(map, stage, cell, words);
    transpose_cell<Map::kElementBytes>(words, vectors);
    store_cell(map, blockIdx.x, cell, vectors, dst);
  }
#endif
}

void launch_tma(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Bulk<bytes()>;
    if (!Map::fits(job.shape) || !has_copy_engine(tma_rung<Map>)) return launch_along_dst(job);
    const Map map(job.shape);
    if (const unsigned tiles = grid_of(map.tiles()))
      tma_rung<Map><<<tiles, Map::kThreads, 0, job.stream>>>(map, describe<Map>(job), job.dst);
  });
}

}  // namespace restride::lab
