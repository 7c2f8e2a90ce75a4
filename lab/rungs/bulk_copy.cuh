// Hopper's bulk tensor copy: the few instructions that the tma rungs need.
//
// A barrier in shared memory counts the bytes that have yet to arrive. One thread announces the bytes and
// starts the copies; all others wait on the barrier's phase, a bit that flips when the count reaches zero.
#pragma once

#include <cuda.h>

#include "lab/rungs/rung.cuh"

namespace restride::lab {

/// A pointer into shared memory as the 32-bit address that these instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Before anybody uses it; a block barrier must follow.
__device__ __forceinline__ void init_arrival(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  // The copy engine sees shared memory through another proxy than the threads' own stores.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void expect_bytes(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void wait_phase(std::uint64_t* barrier, unsigned phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}

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
  expect_bytes(arrival, Map::kStageBytes);
  const Corner corner = map.corner(tile);
#pragma unroll
  for (int box = 0; box < Map::kBoxes; ++box)
    copy_box(stage + box * Map::kBoxBytes, source, corner.col + box * Map::kLineElems, corner.row / Map::kV, 0,
             arrival);
}

}  // namespace restride::lab
