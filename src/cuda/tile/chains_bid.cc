// The bid of tile's kernel for chains on CUDA: tiles whose rows, on either side, are several modes.
#include "src/base/checked.h"
#include "src/cuda/tile/chain_pairs.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using namespace chains;

namespace {

/// Adds a mode to a chain, in words. Chains are chosen so that they fit.
void append(WordChain& chain, std::int64_t extent, std::int64_t stride) {
  const auto at = static_cast<std::size_t>(chain.rank++);
  chain.extent[at] = base::FastDiv(extent);
  chain.stride[at] = static_cast<std::uint32_t>(stride / kWordBytes);
  if (stride < 0) chain.first += static_cast<std::uint32_t>((extent - 1) * (-stride / kWordBytes));
}

/// A chain's modes on the other side.
WordChain across(const Canonical& c, const Link& link, std::int64_t CopyMode::*stride) {
  WordChain chain;
  for (const std::uint8_t m : link.modes) append(chain, c.modes[m].extent, c.modes[m].*stride);
  return chain;
}

/// The words of a chain's rows on its own side: those of the dense run, then the modes behind its end.
WordChain along(const Canonical& c, const Link& link, std::int64_t CopyMode::*stride) {
  WordChain chain;
  append(chain, link.run * c.dst_unit / kWordBytes, kWordBytes);
  for (std::size_t i = link.dense; i < link.modes.size(); ++i)
    append(chain, c.modes[link.modes[i]].extent, c.modes[link.modes[i]].*stride);
  return chain;
}

}  // namespace

void bid_chains(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  const CudaMachine& machine = request.machine;
  Candidate& bid = bids[0];
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (c.cast) return refuse(bid, "chains of modes are moved, not converted");
  if (c.modes.size() < 2) return refuse(bid, "chains of modes need two modes");
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
                {ParamId::kVectorBytes, 16},
                {ParamId::kKeep, machine.costs->keeps > 0 ? 1 : 0}};
  predict(bid, machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, pair.efficiency);
}

void prepare_chains(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const Link d =
      link_of(c, static_cast<std::uint64_t>(chosen.get(ParamId::kDstSet)), &CopyMode::dst_stride, c.dst_unit);
  const Link s =
      link_of(c, static_cast<std::uint64_t>(chosen.get(ParamId::kSrcSet)), &CopyMode::src_stride, c.src_unit);
  auto& a = out.args.emplace<ChainArgs>();
  const std::uint64_t inside = d.mask | s.mask;
  a.tile = tiles::tiles_over(c, chosen, inside, {d.extent, s.extent});
  // Tiles follow dst's modes where src's chain is one mode, else the two chains come first.
  if (s.modes.size() == 1)
    a.tile.near_batches = base::FastDiv(tiles::near_tuples(c, inside, c.modes[s.modes[0]].dst_stride));
  a.src_rows = across(c, d, &CopyMode::src_stride);
  a.dst_rows = across(c, s, &CopyMode::dst_stride);
  a.dst_words = along(c, d, &CopyMode::dst_stride);
  a.src_words = along(c, s, &CopyMode::src_stride);
  a.tile.src_offset -= bytes_of(a.src_rows.first) + bytes_of(a.src_words.first);
  a.breaks = d.dense < d.modes.size() || s.dense < s.modes.size();
  a.keep = chosen.get(ParamId::kKeep) == 1;
}

}  // namespace restride::cuda
