// Moves:         the transpose, a 32 x 32 tile a block, tiles taken along the destination's rows.
// Applies when:  two modes swap and both are long.
// Thread map:    as shared; block b works on the tile that DestinationOrder (lab/maps/stage.h) gives it.
// Shared memory: as swizzle.
// Traffic:       as swizzle; blocks that run together write neighbouring pieces of the same rows.
// Source and measured: not in the seeds; docs/lab.md: the order that pays on a chip that hashes its addresses.
#include "lab/maps/tile.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) along_dst_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_along_dst(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = AlongDst<bytes()>;
    launch_tiles<Map>(job, along_dst_rung<Map>);
  });
}

}  // namespace restride::lab
