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

/// A tile's shape, what it reaches when full, and how fast that falls when it is not: blocks of a small one make room
/// for others sooner. Fitted to ttc57 and reversals on H200.
struct Rated {
  int unit;
  TileShape shape;
  double full, slope;
};
constexpr Rated kShapes[] = {
    {1, {128, 256}, 0.940, 0.40}, {1, {128, 128}, 0.932, 0.15}, {1, {64, 256}, 0.912, 0.20},
    {1, {32, 256}, 0.875, 0.20},  {2, {64, 128}, 0.930, 0.30},  {2, {32, 128}, 0.925, 0.25},
    {2, {64, 64}, 0.920, 0.15},   {4, {64, 64}, 0.945, 0.25},   {4, {32, 64}, 0.938, 0.12},
    {8, {32, 32}, 0.930, 0.30},   {16, {32, 16}, 0.900, 0.30},
};

/// A choice of both chains.
struct Pair {
  Link d, s;
  TileShape shape;
  double efficiency = 0;
};

std::int64_t dst_rows_on(const Canonical& c, const Link& d) {
  return rows_on(c, d, c.dst_align, [](const CopyMode& m) { return m.dst_stride; });
}
std::int64_t src_rows_on(const Canonical& c, const Link& s) {
  return rows_on(c, s, c.src_align, [](const CopyMode& m) { return m.src_stride; });
}

/// Where rows start on `alignment` bytes and are whole words.
bool fit(const Canonical& c, const Link& d, const Link& s, std::int64_t alignment) {
  return (d.mask & s.mask) == 0 && std::min(dst_rows_on(c, d), src_rows_on(c, s)) >= alignment &&
         d.extent * c.dst_unit % maps::kWordBytes == 0 && s.extent * c.src_unit % maps::kWordBytes == 0;
}

/// The chains with the shape that does best for them.
Pair rated(const Canonical& c, const Link& d, const Link& s) {
  Pair best{d, s, {}, 0};
  for (const Rated& r : kShapes) {
    if (r.unit != c.dst_unit) continue;
    const double used = used_by(d, s, r.shape);
    // Below a half it is lanes, not memory, that the copy waits for.
    const double efficiency = r.full * std::pow(used, r.slope) * std::min(1.0, 2 * used);
    if (efficiency > best.efficiency) best = {d, s, r.shape, efficiency};
  }
  best.efficiency *= alignment_yield(dst_rows_on(c, d)) * alignment_yield(src_rows_on(c, s));
  if (c.dst_unit == 1 && dst_rows_on(c, d) < 32) best.efficiency *= 0.85;  // most sectors of dst are written by halves
  return best;
}

/// Chains grown by turns until each side's rows are long enough. A mode that lies between the rows of dst joins src's
/// chain sooner than one whose steps there are longer: tiles side by side in src then stay near in dst.
Pair grown(const Canonical& c, const Link& longest_d, const Link& longest_s) {
  constexpr std::int64_t kTile = 256, kNear = 512, kFar = 384, kLong = 1024;  // bytes
  std::size_t i = 1, j = 1;
  Link d = first_of(c, longest_d, i), s = first_of(c, longest_s, j);
  const auto has_next = [](const Link& longest, std::size_t count, const Link& other) {
    return count < longest.modes.size() && (other.mask >> longest.modes[count] & 1) == 0;
  };
  const auto grow_d = [&](std::int64_t enough) {
    if (d.extent * c.dst_unit >= enough || !has_next(longest_d, i, s)) return false;
    d = first_of(c, longest_d, ++i);
    return true;
  };
  const auto grow_s = [&] {
    if (!has_next(longest_s, j, d)) return false;
    const bool near = c.modes[longest_s.modes[j]].dst_stride < c.modes[longest_s.modes[0]].dst_stride;
    if (s.extent * c.src_unit >= (near ? kNear : kFar)) return false;
    s = first_of(c, longest_s, ++j);
    return true;
  };
  for (bool grew = true; grew;) {
    const bool grew_d = grow_d(kTile);
    grew = grow_s() || grew_d;
  }
  while (grow_d(kLong)) {
  }
  if (!fit(c, d, s, 32)) return {};
  Pair pair = rated(c, d, s);
  if (i + j == 2 && c.modes.size() == 3 && c.modes[1].src_stride == c.src_unit)
    pair.efficiency *= 0.985;  // batches of plain matrices: bulk copies have them as fast with less to work out
  if (c.dst_unit == 8 && (j > 1 || used_by(d, s, pair.shape) < 0.9))
    pair.efficiency *= 0.9;  // short modes of 8 bytes: packed keeps more of them under way
  return pair;
}

/// The best chains: those grown to whole lines, or where they start off sectors, the shortest that fit best.
Pair best_pair(const Canonical& c) {
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  if (longest_d.modes.empty() || longest_s.modes.empty()) return {};
  if (const Pair pair = grown(c, longest_d, longest_s); pair.efficiency > 0) return pair;
  Pair best;
  for (std::size_t i = 1; i <= longest_d.modes.size(); ++i)
    for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
      const Link d = first_of(c, longest_d, i), s = first_of(c, longest_s, j);
      if ((d.mask & s.mask) != 0) break;
      if (i + j == 2 || !fit(c, d, s, maps::kWordBytes)) continue;
      // Tiles go along dst's chain first: the shorter it is, the sooner those come that go on in src's, as long as it
      // goes on at all.
      const double lines = static_cast<double>(s.extent * c.src_unit) / 128;
      Pair pair = rated(c, d, s);
      pair.efficiency *= 0.96 - 0.01 * static_cast<double>(i) + 0.01 * std::min(1.0, lines / 16);
      if (pair.efficiency > best.efficiency) best = pair;
    }
  return best;
}

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
