// Moves:         the transpose, a 32 x 32 tile a block, tiles taken along diagonals.
// Applies when:  two modes swap and both are long.
// Thread map:    as shared; block b works on the tile that DiagonalOrder (lab/maps/stage.h) gives it.
// Shared memory: as swizzle.
// Traffic:       as swizzle; blocks that run together touch different rows and columns of tiles.
// Source and measured: the seed's diagonal order, against partition camping; docs/lab.md: it no longer pays.
#include "lab/maps/tile.h"
#include "lab/rungs/through_stage.cuh"

namespace restride::lab {

template <class Map>
__global__ void __launch_bounds__(Map::kThreads) diagonal_rung(Map map, const void* src, void* dst) {
  through_stage(map, src, dst);
}

void launch_diagonal(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Diagonal<bytes()>;
    launch_tiles<Map>(job, diagonal_rung<Map>);
  });
}

}  // namespace restride::lab
