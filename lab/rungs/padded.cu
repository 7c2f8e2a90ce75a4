// Moves:         the transpose, a 32 x 32 tile a block.
// Applies when:  two modes swap and both are long.
// Thread map:    as shared.
// Shared memory: rows of 33 elements: neighbours in a column lie one bank apart (4-byte elements).
// Traffic:       element-size sectors a request; shared loads take 1 pass (4 bytes), 1.5 (2), 1.75 (1).
// Source and measured: the seed's padded transpose; docs/lab.md.
#include "lab/maps/tile.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) padded_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_padded(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Padded<bytes()>;
    launch_tiles<Map>(job, padded_rung<Map>);
  });
}

}  // namespace restride::lab
