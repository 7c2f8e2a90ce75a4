// The walk over the modes that a kernel does not keep inside a tile or a row: number -> byte offsets.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"

namespace restride::cuda {

/// Outer modes a kernel can walk; layouts with more are left to gather.
inline constexpr int kMaxWalk = 24;

struct Offsets {
  std::int64_t dst = 0;
  std::int64_t src = 0;
};

/// Modes innermost first; their product is below 2^31. Strides in bytes, of any sign.
struct Walk {
  std::int32_t rank = 0;
  base::FastDiv extent[kMaxWalk];
  std::int64_t dst_stride[kMaxWalk] = {};
  std::int64_t src_stride[kMaxWalk] = {};
};

/// Byte offsets of index tuple number `n`; the last mode takes what is left, without a division.
RESTRIDE_HD constexpr Offsets offsets(const Walk& walk, std::uint32_t n) {
  Offsets at;
  for (int m = 0; m < walk.rank; ++m) {
    std::uint32_t digit = n;
    if (m + 1 < walk.rank) {
      const std::uint32_t rest = walk.extent[m].quotient(n);
      digit = n - rest * walk.extent[m].divisor;
      n = rest;
    }
    at.dst += static_cast<std::int64_t>(digit) * walk.dst_stride[m];
    at.src += static_cast<std::int64_t>(digit) * walk.src_stride[m];
  }
  return at;
}

/// The same for kernels whose threads each find a place before they can load: most walks have one mode, and need no
/// loop.
RESTRIDE_HD constexpr Offsets row_offsets(const Walk& walk, std::uint32_t n) {
  if (walk.rank == 1) return {n * walk.dst_stride[0], n * walk.src_stride[0]};
  return offsets(walk, n);
}

// X(bytes of src's unit, of dst's): the kernels of tile and packed that convert, all pairs of dtypes of these sizes
// each.
#define RESTRIDE_CAST_SIZES(X) \
  X(1, 1)                      \
  X(1, 2)                      \
  X(1, 4)                      \
  X(1, 8)                      \
  X(2, 1) X(2, 2) X(2, 4) X(2, 8) X(4, 1) X(4, 2) X(4, 4) X(4, 8) X(8, 1) X(8, 2) X(8, 4) X(8, 8) X(8, 16) X(16, 8)

RESTRIDE_HD constexpr bool has_cast_sizes(int dst_unit, int src_unit) {
#define RESTRIDE_X(src, dst) \
  if (src_unit == src && dst_unit == dst) return true;
  RESTRIDE_CAST_SIZES(RESTRIDE_X)
#undef RESTRIDE_X
  return false;
}

}  // namespace restride::cuda
