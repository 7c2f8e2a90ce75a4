// The walk over the modes that a kernel does not keep inside a tile or a row: number -> byte offsets.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"

namespace restride::maps {

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

}  // namespace restride::maps
