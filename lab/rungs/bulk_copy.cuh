// Hopper's bulk tensor copy for the tma rungs: the engine's barriers (src/cuda/bulk.cuh), boxes of a tensor of
// three modes, and the copies of one tile.
#pragma once

#include <cuda.h>

#include "lab/rungs/rung.cuh"
#include "src/cuda/bulk.cuh"

namespace restride::lab {

using cuda::expect_bytes;
using cuda::init_arrival;
using cuda::shared_address;
using cuda::wait_arrival;

/// One box of a three-mode tensor, coordinates innermost first; what lies outside the tensor arrives as zeros.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* tensor, int x, int y, int z,
                                         std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(to)),
      "l"(tensor), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
      : "memory");
}

/// Starts the copies of one tile of a lab/maps/bulk.h map; all its bytes count towards `arrival`.
template <class Map>
__device__ __forceinline__ void fetch_tile(const Map& map, const CUtensorMap* source, int tile, char* stage,
                                           std::uint64_t* arrival) {
  expect_bytes(shared_address(arrival), Map::kStageBytes);
  const Corner corner = map.corner(tile);
#pragma unroll
  for (int box = 0; box < Map::kBoxes; ++box)
    copy_box(stage + box * Map::kBoxBytes, source, corner.col + box * Map::kLineElems, corner.row / Map::kV, 0,
             arrival);
}

}  // namespace restride::lab
