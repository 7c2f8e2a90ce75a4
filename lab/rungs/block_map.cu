// Moves:         the transpose, one element a thread, rectangle by rectangle.
// Applies when:  as naive.
// Thread map:    block (i, j) of the source -> block (j, i); thread t -> (irow, icol) = (t / 8, t % 8) of 32 x 8.
// Shared memory: none: the rectangle's shape alone fills the sectors of both sides.
// Traffic:       a warp is 4 rows x 8 columns: 4 sectors a load, 8 a store; each filled within the block.
// Source and measured: the seed's key points (block map, then thread map); docs/lab.md.
#include "lab/maps/direct.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) block_map_rung(Map map, const void* src, void* dst) {
  using T = Unit<Map::kElementBytes>;
  const Access from = map.load(blockIdx.x, threadIdx.x, 0);
  const Access to = map.store(blockIdx.x, threadIdx.x, 0);
  if (to.elems) at<T>(dst, to.byte) = at<T>(src, from.byte);
}

void launch_block_map(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = BlockMap<bytes()>;
    launch_tiles<Map>(job, block_map_rung<Map>);
  });
}

}  // namespace restride::lab
