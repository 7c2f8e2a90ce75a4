// The shape of a tile of tile/unaligned_chains: what its bid chooses, and what follows from that for the kernel.
#pragma once

#include <cstdint>

#include "src/cuda/tile/chain_pairs.h"
#include "src/cuda/tile/unaligned_chains_map.h"

namespace restride::cuda::unaligned {

using chains::Link;
using layout::Canonical;

/// Both chains and the tile of them.
struct Choice {
  Link d, s;
  std::int64_t tile_d = 0, tile_s = 0;
  std::int64_t threads = 256;
  std::int64_t skew = 0;      ///< most bytes by which windows are shorter than rows of dst that start anywhere
  std::int64_t run_rows = 0;  ///< rows of dst that follow each other, and are stored as runs
};

/// True for bytes that change sides in registers; all other units are collected one by one.
inline bool in_patches(const Canonical& c) { return c.dst_unit == 1 && !c.cast; }
/// Both chains, without a tile yet.
Choice choice_of(const Canonical& c, const Link& d, const Link& s);
/// Bytes by which tiles' edges may move.
std::int64_t most_skew(const Choice& k);
/// Indices of dst's chain that follow each other in src where all of src's chain lies in a tile; else 1.
std::int64_t joined_rows(const Canonical& c, const Choice& k);
/// Cycles of shared memory that a warp's words of dst take where rows follow each other without a gap; else 0.
double banks_cycles(const Canonical& c, const Choice& k);
/// Indices of src's chain from a row of dst to the one that follows it there, where rows follow each other along the
/// chain's first mode or its last one; else 0.
std::int64_t run_step(const Canonical& c, const Choice& k);
/// Rows of dst that follow each other in a tile, where they do.
std::int64_t rows_of_run(const Canonical& c, const Choice& k);
/// Patches along a row of src in the tile.
std::int64_t patches_along(std::int64_t tile_s);
/// What a tile of this shape takes of shared memory, and what that depends on.
void set_rooms(const Canonical& c, const Choice& k, UnalignedChainArgs& a);

}  // namespace restride::cuda::unaligned
