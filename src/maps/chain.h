// Several modes as one: modes that follow each other densely on one side make up a single index there, a chain. On the
// other side such an index has no one stride; its place is found digit by digit.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"
#include "src/maps/tile.h"

namespace restride::maps {

inline constexpr int kMaxChain = 8;

/// Modes innermost first, with their strides on the side where they are not dense.
struct Chain {
  std::int32_t rank = 0;
  base::FastDiv extent[kMaxChain];
  std::int64_t stride[kMaxChain] = {};
};

/// Where index `n` of the chain lies on the other side, in bytes.
RESTRIDE_HD constexpr std::int64_t chain_offset(const Chain& chain, std::uint32_t n) {
  std::int64_t at = 0;
  for (int m = 0; m < chain.rank; ++m) {
    std::uint32_t digit = n;
    if (m + 1 < chain.rank) {
      const std::uint32_t rest = chain.extent[m].quotient(n);
      digit = n - rest * chain.extent[m].divisor;
      n = rest;
    }
    at += static_cast<std::int64_t>(digit) * chain.stride[m];
  }
  return at;
}

/// A tile both of whose modes are chains: `tile` has their extents, and no pitches.
struct ChainArgs {
  TileArgs tile;
  Chain src_rows;  ///< dst's chain: where in src the row of each of its indices starts
  Chain dst_rows;  ///< src's chain: where in dst the row of each of its indices starts
};

}  // namespace restride::maps
