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
};

/// The modes of a side's longest chain, innermost first.
Link dst_chain(const layout::Canonical& c);
Link src_chain(const layout::Canonical& c);

/// The first `count` modes of a chain.
Link first_of(const layout::Canonical& c, const Link& chain, std::size_t count);

/// A choice of both chains.
struct Pair {
  Link d, s;
  TileShape shape;
  double efficiency = 0;  ///< of a copy's; 0: none applies
};

/// The best two chains that share no mode, their rows on words.
Pair best_pair(const layout::Canonical& c, const CudaMachine& machine);

}  // namespace restride::cuda::chains
