// Moves:         the transpose of each matrix of a batch.
// Applies when:  two modes swap under a batch of any size; elements of 4, 2 or 1 bytes.
// Thread map:    as padded; a block takes the same tile of eight matrices, one after another.
// Shared memory: 32 rows of 33 lanes of 4 bytes; an element of 1 or 2 bytes has a lane to itself.
// Traffic:       element-size sectors a request on both sides; shared accesses take 1 pass at every size.
// Source and measured: the seed's cpy_transpose, with the barrier it lacked; docs/lab.md.
#include "lab/maps/batched.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map, bool kSecondBarrier>
__global__ void __launch_bounds__(Map::kThreads)
    cpy_transpose_batched_rung(Map map, const void* __restrict__ src, void* __restrict__ dst) {
  using T = Unit<Map::kElementBytes>;
  __shared__ __align__(16) char stage[Map::kStageBytes];
  for (int round = 0; round < Map::kRounds; ++round) {
    const int tile = blockIdx.x * Map::kRounds + round;
#pragma unroll
    for (int step = 0; step < Map::kLoads; ++step) {
      const Access from = map.load(tile, threadIdx.x, step);
      if (from.elems) at<T>(stage, map.put(threadIdx.x, step)) = at<T>(src, from.byte);
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < Map::kStores; ++step) {
      const Access to = map.store(tile, threadIdx.x, step);
      if (to.elems) at<T>(dst, to.byte) = at<T>(stage, map.get(threadIdx.x, step));
    }
    // Without this one a fast warp puts the next matrix's elements over those a slow warp has yet to take.
    if (kSecondBarrier) __syncthreads();
  }
}

namespace {

template <bool kSecondBarrier>
void launch(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = TransposeBatched<bytes()>;
    const Map map(job.shape);
    grid_of(map.tiles());  // tiles, not only blocks, are numbered in 32 bits
    if (const unsigned blocks = grid_of(map.blocks()))
      cpy_transpose_batched_rung<Map, kSecondBarrier><<<blocks, Map::kThreads, 0, job.stream>>>(map, job.src, job.dst);
  });
}

}  // namespace

void launch_cpy_transpose_batched(const Job& job) { launch<true>(job); }

// The seed's loop as it was: wrong, and here so that the race checker is seen to say so.
void launch_cpy_transpose_batched_race(const Job& job) { launch<false>(job); }

}  // namespace restride::lab
