// The bid of tile's kernel for chains on CUDA: tiles whose rows, on either side, are several modes.
#include <bit>

#include "src/base/checked.h"
#include "src/cuda/tile/chain_pairs.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using namespace chains;

namespace {

void set_chain(const Canonical& c, const Link& link, Chain& chain, std::int64_t CopyMode::*stride) {
  for (const std::uint8_t m : link.modes) {
    const auto at = static_cast<std::size_t>(chain.rank++);
    chain.extent[at] = base::FastDiv(c.modes[m].extent);
    chain.stride[at] = c.modes[m].*stride;
  }
}

}  // namespace

void bid_chains(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  const CudaMachine& machine = request.machine;
  Candidate& bid = bids[0];
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (c.cast) return refuse(bid, "chains of modes are moved, not converted");
  if (c.modes.size() < 3) return refuse(bid, "a chain of modes needs three modes");
  if (c.dst_bytes() < machine.sm_count * kSizes.chains_small_share)
    return refuse(bid, "too small for chains of modes to pay");
  const Pair pair = best_pair(c, machine);
  if (pair.efficiency == 0) return refuse(bid, "no chains of modes whose rows lie on words");
  std::int64_t batch = 0;
  if (!outer_walk(c, pair.d.mask | pair.s.mask, nullptr, &batch)) return refuse(bid, "too many outer modes");
  const std::int64_t tiles = ceil_div(pair.d.extent, pair.shape.d) * ceil_div(pair.s.extent, pair.shape.s);
  if (too_many(tiles, batch)) return refuse(bid, "too many tiles");
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(pair.d.mask)},
                {ParamId::kSrcSet, static_cast<std::int64_t>(pair.s.mask)},
                {ParamId::kTileRows, pair.shape.d},
                {ParamId::kTileCols, pair.shape.s},
                {ParamId::kVectorBytes, 16}};
  predict(bid, machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, pair.efficiency);
}

void prepare_chains(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const auto modes_in = [&](ParamId id) {
    return static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(chosen.get(id))));
  };
  const Link d = first_of(c, dst_chain(c), modes_in(ParamId::kDstSet));
  const Link s = first_of(c, src_chain(c), modes_in(ParamId::kSrcSet));
  auto& a = out.args.emplace<ChainArgs>();
  const std::uint64_t inside = d.mask | s.mask;
  a.tile = tiles::tiles_over(c, chosen, inside, {d.extent, s.extent});
  // Tiles follow dst's modes where src's chain is one mode, else the two chains come first.
  if (s.modes.size() == 1)
    a.tile.near_batches = base::FastDiv(tiles::near_tuples(c, inside, c.modes[s.modes[0]].dst_stride));
  set_chain(c, d, a.src_rows, &CopyMode::src_stride);
  set_chain(c, s, a.dst_rows, &CopyMode::dst_stride);
}

}  // namespace restride::cuda
