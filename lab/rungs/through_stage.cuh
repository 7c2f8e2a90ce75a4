// The body of every rung that takes one tile through shared memory: put, barrier, get. The map decides the rest.
#pragma once

#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__device__ __forceinline__ void through_stage(const Map& map, const void* __restrict__ src, void* __restrict__ dst) {
  using T = Unit<Map::kElementBytes>;
  __shared__ __align__(16) char stage[Map::kStageBytes];
  T value[Map::kLoads];
#pragma unroll
  for (int step = 0; step < Map::kLoads; ++step) {
    const Access from = map.load(blockIdx.x, threadIdx.x, step);
    if (from.elems) value[step] = at<T>(src, from.byte);
  }
  // Threads outside the matrix put what they have: nobody takes it up, and the barrier needs no branch.
#pragma unroll
  for (int step = 0; step < Map::kLoads; ++step) at<T>(stage, map.put(threadIdx.x, step)) = value[step];
  __syncthreads();
#pragma unroll
  for (int step = 0; step < Map::kStores; ++step) {
    const Access to = map.store(blockIdx.x, threadIdx.x, step);
    if (to.elems) at<T>(dst, to.byte) = at<T>(stage, map.get(threadIdx.x, step));
  }
}

}  // namespace restride::lab
