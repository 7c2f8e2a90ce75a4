// Several modes as one: modes that follow each other densely on one side make up a single index there, a chain. On the
// other side this index has no single stride; its place is found digit by digit.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"
#include "src/cuda/tile/map.h"

namespace restride::cuda {

inline constexpr int kMaxChain = 8;

/// Modes innermost first, with their strides on a side.
template <class Offset>
struct ChainOf {
  std::int32_t rank = 0;
  Offset first = 0;  ///< of index 0
  base::FastDiv extent[kMaxChain];
  Offset stride[kMaxChain] = {};
};
using Chain = ChainOf<std::int64_t>;  ///< in bytes
/// In words of 16 bytes, strides and sums modulo 2^32. The lowest is 0: where modes go backwards, index 0 lies higher.
using WordChain = ChainOf<std::uint32_t>;

/// Where index `n` of the chain lies on that side. Behind the chain's end the sum means nothing.
template <class Offset>
RESTRIDE_HD constexpr Offset chain_offset(const ChainOf<Offset>& chain, std::uint32_t n) {
  Offset at = chain.first;
#ifdef __CUDA_ARCH__
#pragma unroll 1  // unrolled, chains of one or two modes pay for code they skip
#endif
  for (int m = 0; m + 1 < chain.rank; ++m) {
    const std::uint32_t rest = chain.extent[m].quotient(n);
    at += static_cast<Offset>(n - rest * chain.extent[m].divisor) * chain.stride[m];
    n = rest;
  }
  return at + static_cast<Offset>(n) * chain.stride[chain.rank - 1];
}

/// A WordChain's offset in bytes.
RESTRIDE_HD constexpr std::int64_t bytes_of(std::uint32_t words) { return std::int64_t{words} * kWordBytes; }

/// A tile both of whose modes are chains: `tile` has their extents, and no pitches. A chain may break off: what follows
/// its first modes on its own side may lie elsewhere. Words never lie across a break.
struct ChainArgs {
  TileArgs tile;
  WordChain src_rows;   ///< dst's chain: where in src the row of each of its indices starts
  WordChain dst_rows;   ///< src's chain: where in dst the row of each of its indices starts
  WordChain dst_words;  ///< dst's chain, counted in words: where in a row of dst each lies
  WordChain src_words;  ///< src's chain, counted in words: where in a row of src each lies
  bool breaks = false;  ///< one of both chains breaks off; else words of rows lie side by side
  bool keep = true;     ///< L2 is asked to give up words of src last
};

/// Entries of a block's table: of each of its rows of src and each row of dst; where a chain breaks off, also of each
/// word of a row of dst and each word of a row of src.
RESTRIDE_HD constexpr int chain_entries(int tile_d, int tile_s, int units, bool breaks) {
  return tile_d + tile_s + (breaks ? tile_d / units + tile_s / units : 0);
}

/// Entry number `i`; `units` share a word.
RESTRIDE_HD constexpr std::uint32_t chain_entry(const ChainArgs& c, const TilePlace& place, int tile_d, int tile_s,
                                                int units, int i) {
  const WordChain* chain = &c.src_rows;
  int n = place.d + i;
  if (i >= tile_d + tile_s + tile_d / units) {
    chain = &c.src_words;
    n = place.s / units + i - (tile_d + tile_s + tile_d / units);
  } else if (i >= tile_d + tile_s) {
    chain = &c.dst_words;
    n = place.d / units + i - (tile_d + tile_s);
  } else if (i >= tile_d) {
    chain = &c.dst_rows;
    n = place.s + i - tile_d;
  }
  return chain_offset(*chain, static_cast<std::uint32_t>(n));
}

// X(bytes of a unit, units along d, units along s, threads, blocks a multiprocessor holds): the kernel's instances.
#define RESTRIDE_CHAIN_SHAPES(X) \
  X(1, 128, 128, 128, 8)         \
  X(1, 128, 256, 256, 4)         \
  X(1, 256, 128, 256, 4)         \
  X(1, 64, 256, 128, 8)          \
  X(1, 64, 128, 64, 16)          \
  X(2, 64, 128, 128, 8)          \
  X(2, 64, 64, 128, 12)          \
  X(2, 32, 128, 128, 12)         \
  X(2, 128, 64, 128, 8)          \
  X(2, 128, 128, 256, 4)         \
  X(4, 64, 64, 256, 5)           \
  X(4, 32, 64, 128, 12)          \
  X(4, 64, 32, 128, 12)          \
  X(4, 32, 32, 128, 16)          \
  X(4, 32, 128, 128, 8)          \
  X(4, 64, 128, 256, 4)          \
  X(8, 32, 32, 128, 8)           \
  X(8, 64, 16, 128, 8) X(8, 32, 64, 256, 4) X(8, 64, 32, 256, 4) X(16, 32, 16, 128, 8) X(16, 32, 32, 256, 4)

/// tile_stage_byte for tiles whose rows of dst have `groups` words, 2, 4 or a multiple of 8: fewer words a row are
/// spread over as many banks, for a warp then reads that many more rows.
RESTRIDE_HD constexpr std::uint32_t chain_stage_byte(std::uint32_t row, std::uint32_t byte, std::uint32_t units,
                                                     std::uint32_t groups) {
  const std::uint32_t line = row % units * groups + row / units;
  const std::uint32_t spread = groups < 8 ? 8 / groups : 1;
  const std::uint32_t word = byte / kWordBytes % 8 ^ (line * spread & 7);
  return byte / kLineBytes * (units * groups * kLineBytes) + line * kLineBytes + word * kWordBytes + byte % kWordBytes;
}

}  // namespace restride::cuda
