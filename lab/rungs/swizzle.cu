// Moves:         the transpose, a 32 x 32 tile a block.
// Applies when:  two modes swap and both are long.
// Thread map:    as shared.
// Shared memory: element (row, col) lies at column col ^ row: no space lost, no conflicts at any element size.
// Traffic:       element-size sectors a request; shared loads and stores take 1 pass.
// Source and measured: the seed's XOR-swizzled transpose; docs/lab.md.
#include "lab/maps/tile.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) swizzle_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_swizzle(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Swizzle<bytes()>;
    launch_tiles<Map>(job, swizzle_rung<Map>);
  });
}

}  // namespace restride::lab
