// The second half of the vector and the tma rung: from a swizzled tile to whole vectors of the destination.
#pragma once

#include "lab/rungs/rung.cuh"

namespace restride::lab {

template <class Map>
__device__ __forceinline__ void gather_cell(const Map& map, const char* stage, int cell,
                                            std::uint32_t (&words)[Map::kV]) {
#pragma unroll
  for (int row = 0; row < Map::kV; ++row)
    words[row] = at<std::uint32_t>(stage, map.get(threadIdx.x, cell * Map::kV + row));
}

template <class Map>
__device__ __forceinline__ void store_cell(const Map& map, int tile, int cell,
                                           const std::uint32_t (&vectors)[Map::kK][4], void* __restrict__ dst) {
#pragma unroll
  for (int k = 0; k < Map::kK; ++k) {
    const Access to = map.store(tile, threadIdx.x, cell * Map::kK + k);
    const std::uint32_t(&v)[4] = vectors[k];
    if (to.elems) at<uint4>(dst, to.byte) = make_uint4(v[0], v[1], v[2], v[3]);
  }
}

}  // namespace restride::lab
