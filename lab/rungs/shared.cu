// Moves:         the transpose, a 32 x 32 tile a block.
// Applies when:  two modes swap and both are long.
// Thread map:    32 x 8 threads load tile rows, four each; after a barrier they store tile columns.
// Shared memory: the tile, rows back to back: a column lies in one bank (4-byte elements), a 32-way conflict.
// Traffic:       element-size sectors a request on both sides; a shared load takes 32 passes.
// Source and measured: the seed's shared-memory transpose; docs/lab.md.
#include "lab/maps/tile.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) shared_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_shared(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Shared<bytes()>;
    launch_tiles<Map>(job, shared_rung<Map>);
  });
}

}  // namespace restride::lab
