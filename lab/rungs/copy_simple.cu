// Moves:         dst = src, one element a thread.
// Applies when:  the layouts are the same.
// Thread map:    thread i of the grid moves element i.
// Shared memory: none.
// Traffic:       a warp's 32 elements are element-size sectors on each side; too few bytes in flight.
// Source and measured: the seed's simple copy; docs/lab.md.
#include "lab/maps/copy.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) copy_simple_rung(Map map, const void* src, void* dst) {
  using T = Unit<Map::kElementBytes>;
  const Access element = map.load(blockIdx.x, threadIdx.x, 0);
  if (element.elems) at<T>(dst, element.byte) = at<T>(src, element.byte);
}

void launch_copy_simple(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = CopyElement<bytes()>;
    launch_tiles<Map>(job, copy_simple_rung<Map>);
  });
}

}  // namespace restride::lab
