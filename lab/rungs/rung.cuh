// What every rung's file needs: typed access at a byte offset, a type per element size, a launch per map.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <string>

#include "lab/rungs.h"

namespace restride::lab {

template <class T>
__device__ __forceinline__ const T& at(const void* base, std::int64_t byte) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(base) + byte);
}
template <class T>
__device__ __forceinline__ T& at(void* base, std::int64_t byte) {
  return *reinterpret_cast<T*>(static_cast<char*>(base) + byte);
}

/// Unsigned integers of the element's size: a plain copy moves bits and never sees a dtype.
template <int kBytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = std::uint8_t;
};
template <>
struct UnitOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnitOf<4> {
  using type = std::uint32_t;
};
template <int kBytes>
using Unit = typename UnitOf<kBytes>::type;

/// Calls `f` with the element size as a constant.
template <class F>
void with_element_bytes(int element_bytes, F&& f) {
  switch (element_bytes) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 4: return f(std::integral_constant<int, 4>{});
    default:
      throw LaunchError("the lab has no kernels for elements of " + std::to_string(element_bytes) +
                        " bytes; use 4, 2 or 1");
  }
}

/// Blocks for `count` units of work; none to launch when there is no work.
inline unsigned grid_of(std::int64_t count) {
  if (count > std::numeric_limits<int>::max())
    throw LaunchError(std::to_string(count) + " tiles are more than the 2147483647 a lab rung numbers");
  return static_cast<unsigned>(count);
}

/// One block a tile, for maps whose kernel takes (map, src, dst).
template <class Map, class Kernel>
void launch_tiles(const Job& job, Kernel kernel) {
  const Map map(job.shape);
  if (const unsigned blocks = grid_of(map.tiles()))
    kernel<<<blocks, Map::kThreads, 0, job.stream>>>(map, job.src, job.dst);
}

}  // namespace restride::lab
