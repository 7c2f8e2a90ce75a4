// Moves:         dst = src, a 32 x 32 tile a block, by way of shared memory.
// Applies when:  both sides are the same row-major matrix.
// Thread map:    as copy_tile; each thread puts its four elements down and takes them up after a barrier.
// Shared memory: the tile, rows back to back; no conflicts, since both ways go along the rows.
// Traffic:       as copy_tile, and one shared store and load an element: what staging alone costs.
// Source and measured: the seed's copy through shared memory; docs/lab.md.
#include "lab/maps/copy.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) copy_shared_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_copy_shared(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = CopyThroughStage<bytes()>;
    launch_tiles<Map>(job, copy_shared_rung<Map>);
  });
}

}  // namespace restride::lab
