// Chains for tile's kernel for chains on CUDA: which modes make up its rows, and the best choice of both sides'.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cuda/machine.h"
#include "src/cuda/tile/chains_map.h"
#include "src/layout/canonical.h"

namespace restride::cuda::chains {

/// Modes that are one index on a side.
struct Link {
  detail::FixedVector<std::uint8_t, kMaxChain> modes;  ///< innermost first
  std::uint64_t mask = 0;
  std::int64_t extent = 1;
  std::size_t dense = 0;  ///< of the modes, those that follow each other without a gap on that side
  std::int64_t run = 1;   ///< their units
};

/// The modes of a side's longest chain, innermost first.
Link dst_chain(const layout::Canonical& c);
Link src_chain(const layout::Canonical& c);

/// The first `count` modes of a chain.
Link first_of(const layout::Canonical& c, const Link& chain, std::size_t count);

/// The modes of `mask` in the order of their strides on a side, `stride`, whose units have so many bytes.
Link link_of(const layout::Canonical& c, std::uint64_t mask, std::int64_t layout::CopyMode::*stride, int unit);

/// A choice of both chains.
struct Pair {
  Link d, s;
  TileShape shape;
  double efficiency = 0;  ///< of a copy's; 0: none applies
};

/// The best two chains that share no mode, their rows on words: dense ones, with the modes that are in neither walked
/// over outside, or all modes shared out among both.
Pair best_pair(const layout::Canonical& c, const CudaMachine& machine);

}  // namespace restride::cuda::chains
