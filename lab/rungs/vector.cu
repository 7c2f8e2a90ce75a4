// Moves:         the transpose, 16 bytes a lane on both sides.
// Applies when:  rows of both sides are multiples of 16 bytes; else the same tile, one element an access.
// Thread map:    lab/maps/vector.h: eight cells down by four words across a warp, cells turned in registers.
// Shared memory: 64 x 64 elements (1 byte: 128 x 128), vector number XOR row group; no conflicts.
// Traffic:       16 sectors a request on both sides, 128 bytes of a row at least; 64 bytes a thread in flight.
// Source and measured: the seed's swizzle taken to whole vectors; docs/lab.md.
#include "lab/maps/lanes.h"
#include "lab/maps/vector.h"
#include "lab/rungs/vector.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads)
    vector_rung(Map map, const void* __restrict__ src, void* __restrict__ dst) {
  __shared__ __align__(16) char stage[Map::kStageBytes];
  uint4 value[Map::kLoads];
#pragma unroll
  for (int step = 0; step < Map::kLoads; ++step) {
    const Access from = map.load(blockIdx.x, threadIdx.x, step);
    if (from.elems) value[step] = at<uint4>(src, from.byte);
  }
#pragma unroll
  for (int step = 0; step < Map::kLoads; ++step) at<uint4>(stage, map.put(threadIdx.x, step)) = value[step];
  __syncthreads();
#pragma unroll
  for (int cell = 0; cell < Map::Cells::kCells; ++cell) {
    std::uint32_t words[Map::kV], vectors[Map::kK][4];
    gather_cell(map, stage, cell, words);
    transpose_cell<Map::kElementBytes>(words, vectors);
    store_cell(map, blockIdx.x, cell, vectors, dst);
  }
}

template <class Map>
__global__ void __launch_bounds__(Map::kThreads)
    vector_narrow_rung(Map map, const void* __restrict__ src, void* __restrict__ dst) {
  using T = Unit<Map::kElementBytes>;
  __shared__ __align__(16) char stage[Map::kStageBytes];
#pragma unroll 8  // loads in flight; all 16 to 64 of them would spill
  for (int step = 0; step < Map::kLoads; ++step) {
    const Access from = map.load(blockIdx.x, threadIdx.x, step);
    if (from.elems) at<T>(stage, map.put(threadIdx.x, step)) = at<T>(src, from.byte);
  }
  __syncthreads();
#pragma unroll 8
  for (int step = 0; step < Map::kStores; ++step) {
    const Access to = map.store(blockIdx.x, threadIdx.x, step);
    if (to.elems) at<T>(dst, to.byte) = at<T>(stage, map.get(threadIdx.x, step));
  }
}

void launch_vector(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Wide = Vector<bytes(), true>;
    using Narrow = Vector<bytes(), false>;
    if (Wide::fits(job.shape)) {
      launch_tiles<Wide>(job, vector_rung<Wide>);
    } else {
      launch_tiles<Narrow>(job, vector_narrow_rung<Narrow>);
    }
  });
}

}  // namespace restride::lab
