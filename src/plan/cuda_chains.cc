// The bid of tile's kernel for chains on CUDA: tiles whose rows, on either side, are several modes.
#include <bit>

#include "src/base/checked.h"
#include "src/plan/cuda_chain_pairs.h"
#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;
using layout::CopyMode;
using namespace chains;

namespace {

constexpr std::int64_t kChains = 3;  // as ParamId::kEngine counts engines

/// Tiles follow dst's modes where src's chain is one mode, else the two chains come first.
std::int64_t near_batches(const Canonical& c, const Link& s, const maps::Walk& walk) {
  std::int64_t near = 1;
  if (s.modes.size() == 1)
    for (int i = 0; i < walk.rank && walk.dst_stride[i] < c.modes[s.modes[0]].dst_stride; ++i)
      near *= walk.extent[i].divisor;
  return near;
}

void set_chain(const Canonical& c, const Link& link, maps::Chain& chain, std::int64_t CopyMode::*stride) {
  for (const std::uint8_t m : link.modes) {
    const auto at = static_cast<std::size_t>(chain.rank++);
    chain.extent[at] = base::FastDiv(c.modes[m].extent);
    chain.stride[at] = c.modes[m].*stride;
  }
}

}  // namespace

Candidate bid_tile_chains(const Canonical& c, const CudaMachine& machine) {
  const auto refuse = [](std::string_view why) { return refusal(Family::kTile, why); };
  if (c.two_sided) return refuse("the sides share no modes");
  if (c.cast) return refuse("chains of modes are moved, not converted");
  if (c.modes.size() < 3) return refuse("a chain of modes needs three modes");
  if (c.dst_bytes() < static_cast<std::int64_t>(machine.sm_count) * (2 << 10))
    return refuse("too small for chains of modes to pay");
  const Pair pair = best_pair(c, machine);
  if (pair.efficiency == 0) return refuse("no chains of modes whose rows lie on words");
  maps::Walk walk;
  std::int64_t batch = 0;
  if (!outer_walk(c, pair.d.mask | pair.s.mask, &walk, &batch)) return refuse("too many outer modes");
  const std::int64_t tiles = ceil_div(pair.d.extent, pair.shape.d) * ceil_div(pair.s.extent, pair.shape.s);
  if (tiles >= (std::int64_t{1} << 31) / batch) return refuse("too many tiles");
  Candidate bid;
  bid.family = Family::kTile;
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(pair.d.mask)},
                {ParamId::kSrcSet, static_cast<std::int64_t>(pair.s.mask)},
                {ParamId::kTileRows, pair.shape.d},
                {ParamId::kTileCols, pair.shape.s},
                {ParamId::kVectorBytes, 16},
                {ParamId::kEngine, kChains}};
  predict(bid, c, machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, pair.efficiency);
  return bid;
}

maps::ChainArgs chain_args(const Canonical& c, const Candidate& chosen) {
  const auto modes_in = [&](ParamId id) {
    return static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(chosen.get(id))));
  };
  const Link d = first_of(c, dst_chain(c), modes_in(ParamId::kDstSet));
  const Link s = first_of(c, src_chain(c), modes_in(ParamId::kSrcSet));
  maps::ChainArgs out;
  maps::TileArgs& a = out.tile;
  std::int64_t batch = 0;
  outer_walk(c, d.mask | s.mask, &a.batch, &batch);
  const ByteRange range = source_range(c);
  a.src_first = range.first;
  a.src_last = range.last;
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.d_extent = static_cast<std::int32_t>(d.extent);
  a.s_extent = static_cast<std::int32_t>(s.extent);
  set_chain(c, d, out.src_rows, &CopyMode::src_stride);
  set_chain(c, s, out.dst_rows, &CopyMode::dst_stride);
  a.tile_d = static_cast<std::int32_t>(chosen.get(ParamId::kTileRows));
  a.tile_s = static_cast<std::int32_t>(chosen.get(ParamId::kTileCols));
  const std::int64_t tiles_d = ceil_div(d.extent, a.tile_d), tiles_s = ceil_div(s.extent, a.tile_s);
  a.tiles_d = base::FastDiv(tiles_d);
  a.tiles_s = base::FastDiv(tiles_s);
  a.near_batches = base::FastDiv(near_batches(c, s, a.batch));
  a.tiles = static_cast<std::uint32_t>(tiles_d * tiles_s * batch);
  a.blocks = a.tiles;
  return out;
}

}  // namespace restride::plan
