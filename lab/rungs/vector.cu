// Moves:         the transpose, 16 bytes a lane on both sides.
// Applies when:  rows of both sides are multiples of 16 bytes; else along_dst's kernel.
// Thread map:    lab/maps/vector.h: eight cells down by four words across a warp, cells turned in registers.
// Shared memory: 64 x 64 elements (1 byte: 128 x 128), vector number XOR row group; no conflicts.
// Traffic:       16 sectors a request on both sides, 128 bytes of a row at least; 64 bytes a thread in flight.
// Source and measured: the seed's swizzle taken to whole vectors; docs/lab.md.
#include "lab/maps/lanes.h"
#include "lab/maps/vector.h"
#include "lab/rungs/vector.cuh"

namespace restride::lab {

void launch_along_dst(const Job& job);

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

void launch_vector(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Vector<bytes()>;
    if (!Map::fits(job.shape)) return launch_along_dst(job);
    launch_tiles<Map>(job, vector_rung<Map>);
  });
}

}  // namespace restride::lab
