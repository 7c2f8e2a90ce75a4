// Moves:         dst = src, a 32 x 32 tile a block.
// Applies when:  both sides are the same row-major matrix.
// Thread map:    32 x 8 threads; thread (tx, ty) moves rows ty, ty + 8, ty + 16, ty + 24 of column tx.
// Shared memory: none.
// Traffic:       element-size sectors a request; four independent loads a thread before the first store.
// Source and measured: the seed's tiled copy, four elements a thread; docs/lab.md.
#include "lab/maps/copy.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) copy_tile_rung(Map map, const void* src, void* dst) {
  using T = Unit<Map::kElementBytes>;
  T value[Map::kLoads];
#pragma unroll
  for (int step = 0; step < Map::kLoads; ++step) {
    const Access from = map.load(blockIdx.x, threadIdx.x, step);
    if (from.elems) value[step] = at<T>(src, from.byte);
  }
#pragma unroll
  for (int step = 0; step < Map::kStores; ++step) {
    const Access to = map.store(blockIdx.x, threadIdx.x, step);
    if (to.elems) at<T>(dst, to.byte) = value[step];
  }
}

void launch_copy_tile(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = CopyTile<bytes()>;
    launch_tiles<Map>(job, copy_tile_rung<Map>);
  });
}

}  // namespace restride::lab
