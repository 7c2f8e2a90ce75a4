// Moves:         the transpose, one element a thread.
// Applies when:  always right; the figure the others start from.
// Thread map:    32 x 8 threads over 8 rows of 32 columns; a warp reads one row and writes one column.
// Shared memory: none.
// Traffic:       loads of element-size sectors; stores of 32 sectors, each for one element.
// Source and measured: the seed's naive transpose, 218 GB/s on an A100; docs/lab.md.
#include "lab/maps/direct.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) naive_rung(Map map, const void* src, void* dst) {
  using T = Unit<Map::kElementBytes>;
  const Access from = map.load(blockIdx.x, threadIdx.x, 0);
  const Access to = map.store(blockIdx.x, threadIdx.x, 0);
  if (to.elems) at<T>(dst, to.byte) = at<T>(src, from.byte);
}

void launch_naive(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Naive<bytes()>;
    launch_tiles<Map>(job, naive_rung<Map>);
  });
}

}  // namespace restride::lab
