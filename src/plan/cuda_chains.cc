// The bid of tile's kernel for chains on CUDA: tiles whose rows, on either side, are several modes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;
using layout::CopyMode;
using maps::TileShape;

namespace {

constexpr std::int64_t kChains = 3;  // as ParamId::kEngine counts engines

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Modes that are one index on a side.
struct Link {
  detail::FixedVector<std::uint8_t, maps::kMaxChain> modes;  ///< innermost first
  std::uint64_t mask = 0;
  std::int64_t extent = 1;
};

void append(Link& link, const Canonical& c, std::size_t mode) {
  link.modes.push_back(static_cast<std::uint8_t>(mode));
  link.mask |= std::uint64_t{1} << mode;
  link.extent *= c.modes[mode].extent;
}

/// The modes of dst's longest chain, innermost first.
Link dst_chain(const Canonical& c) {
  Link link;
  for (std::size_t m = 0; m < c.modes.size() && m < 64 && link.modes.size() < maps::kMaxChain; ++m) {
    if (c.modes[m].dst_stride != link.extent * c.dst_unit || link.extent * c.modes[m].extent >= std::int64_t{1} << 30)
      break;
    append(link, c, m);
  }
  return link;
}

/// The same of src.
Link src_chain(const Canonical& c) {
  Link link;
  for (bool found = true; found && link.modes.size() < maps::kMaxChain;) {
    found = false;
    for (std::size_t m = 0; m < c.modes.size() && m < 64 && !found; ++m) {
      if ((link.mask >> m & 1) != 0 || c.modes[m].src_stride != link.extent * c.src_unit) continue;
      if (link.extent * c.modes[m].extent >= std::int64_t{1} << 30) return link;
      append(link, c, m);
      found = true;
    }
  }
  return link;
}

/// The first `count` modes of a chain.
Link first_of(const Canonical& c, const Link& chain, std::size_t count) {
  Link link;
  for (std::size_t i = 0; i < std::min(count, chain.modes.size()); ++i) append(link, c, chain.modes[i]);
  return link;
}

/// Largest power of two, up to 128, that divides where rows of a side start; `stride` is that side's, of a mode.
template <class StrideOf>
std::int64_t rows_on(const Canonical& c, const Link& link, std::int64_t align, StrideOf stride) {
  std::int64_t bits = align | 128;
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m >= 64 || (link.mask >> m & 1) == 0) bits |= stride(c.modes[m]);
  return bits & -bits;
}

/// What rows lose that start off 128 bytes: tiles that are neighbours share lines and sectors. Measured on H200, as are
/// the shapes.
double alignment_yield(std::int64_t alignment) {
  return alignment >= 128 ? 1.0 : alignment == 64 ? 0.98 : alignment == 32 ? 0.94 : 0.92;
}

double used_by(const Link& d, const Link& s, TileShape shape) {
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>(extent) / static_cast<double>((extent + tile - 1) / tile * tile);
  };
  return share(d.extent, shape.d) * share(s.extent, shape.s);
}

TileShape shape_of(const Canonical& c, const Link& d, const Link& s) {
  switch (c.dst_unit) {
    case 1: return {128, 128};
    case 2: return {64, 128};
    case 4: {
      constexpr TileShape kWide{64, 64}, kNarrow{64, 32};
      return used_by(d, s, kNarrow) > used_by(d, s, kWide) * 1.01 ? kNarrow : kWide;
    }
    case 8: return {32, 32};
    default: return {32, 16};
  }
}

/// A choice of both chains.
struct Pair {
  Link d, s;
  TileShape shape;
  double efficiency = 0;
};

/// The best chains: whole lines on both sides, and of those the shortest.
Pair best_pair(const Canonical& c) {
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  Pair best;
  for (std::size_t i = 1; i <= longest_d.modes.size(); ++i)
    for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
      const Link d = first_of(c, longest_d, i), s = first_of(c, longest_s, j);
      if ((d.mask & s.mask) != 0) break;
      const std::int64_t dst_alignment = rows_on(c, d, c.dst_align, [](const CopyMode& m) { return m.dst_stride; });
      const std::int64_t src_alignment = rows_on(c, s, c.src_align, [](const CopyMode& m) { return m.src_stride; });
      if (std::min(dst_alignment, src_alignment) < maps::kWordBytes) continue;
      const TileShape shape = shape_of(c, d, s);
      if (i + j == 2) {  // tile's other kernels; chains are for modes that leave their tiles or lines half empty
        if (std::min(dst_alignment, src_alignment) >= 128 && used_by(d, s, shape) > 0.95) return {};
        continue;
      }
      const double used = std::pow(used_by(d, s, shape), 0.3);  // blocks with little to do leave room for others
      // Tiles go along dst's chain first: the shorter it is, the sooner those come that go on in src's, as long as it
      // goes on at all.
      const double lines = static_cast<double>(s.extent * c.src_unit) / 128;
      const double near = 1 - 0.01 * static_cast<double>(i) + 0.01 * std::min(1.0, lines / 16);
      const double efficiency = 0.9 * near * alignment_yield(dst_alignment) * alignment_yield(src_alignment) * used;
      if (efficiency > best.efficiency) best = {d, s, shape, efficiency};
    }
  return best;
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
  if (c.dst_bytes() < static_cast<std::int64_t>(machine.sm_count) * (32 << 10))
    return refuse("too small for chains of modes to pay");
  const Pair pair = best_pair(c);
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
                {ParamId::kThreads, maps::kTileThreads},
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
  a.tiles = static_cast<std::uint32_t>(tiles_d * tiles_s * batch);
  a.blocks = a.tiles;
  return out;
}

}  // namespace restride::plan
