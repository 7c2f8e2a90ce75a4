// Chains of modes rated for a tile's rows: every length of both, with every shape of tile.
#include "src/cuda/tile/chain_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "src/cuda/bid.h"

namespace restride::cuda::chains {

using layout::Canonical;
using layout::CopyMode;

namespace {

void append(Link& link, const Canonical& c, std::size_t mode) {
  link.modes.push_back(static_cast<std::uint8_t>(mode));
  link.mask |= std::uint64_t{1} << mode;
  link.extent *= c.modes[mode].extent;
}

}  // namespace

Link dst_chain(const Canonical& c) {
  Link link;
  for (std::size_t m = 0; m < c.modes.size() && m < 64 && link.modes.size() < kMaxChain; ++m) {
    if (c.modes[m].dst_stride != link.extent * c.dst_unit || link.extent * c.modes[m].extent >= std::int64_t{1} << 30)
      break;
    append(link, c, m);
  }
  return link;
}

Link src_chain(const Canonical& c) {
  Link link;
  for (bool found = true; found && link.modes.size() < kMaxChain;) {
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

Link first_of(const Canonical& c, const Link& chain, std::size_t count) {
  Link link;
  for (std::size_t i = 0; i < std::min(count, chain.modes.size()); ++i) append(link, c, chain.modes[i]);
  return link;
}

namespace {

/// Largest power of two, up to 128, that divides where rows of a side start; `stride` is that side's, of a mode.
std::int64_t rows_on(const Canonical& c, const Link& link, std::int64_t align, std::int64_t CopyMode::*stride) {
  std::int64_t bits = align | 128;
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m >= 64 || (link.mask >> m & 1) == 0) bits |= c.modes[m].*stride;
  return bits & -bits;
}

/// A tile's shape, its speed when it is full, and the share of busy lanes below which the copy is bound by lanes, not
/// memory. It is lower for blocks of 128 threads. Tiles whose rows have 256 bytes on both sides are the fastest;
/// smaller ones fit short chains better. `near`: both numbers if tiles that follow each other in src are written near
/// each other.
struct Rated {
  struct Reach {
    double Costs::*full;
    double Costs::*enough;
  };
  int unit;
  TileShape shape;
  Reach reach, near = reach;
};
constexpr double Costs::*k128 = &Costs::chains_small_blocks;
constexpr double Costs::*k256 = &Costs::chains_large_blocks;
constexpr Rated kShapes[] = {
    {1, {128, 128}, {&Costs::chains_1_128x128, k128}},
    {1, {128, 256}, {&Costs::chains_1_128x256, k256}},
    {1, {256, 128}, {&Costs::chains_1_256x128, k256}},
    {1, {64, 256}, {&Costs::chains_1_64x256, k128}},
    {1, {64, 128}, {&Costs::chains_1_64x128, k128}},
    {2, {64, 128}, {&Costs::chains_2_64x128, k128}},
    {2, {64, 64}, {&Costs::chains_2_64x64, k128}},
    {2, {32, 128}, {&Costs::chains_2_32x128, k128}},
    {2, {128, 64}, {&Costs::chains_2_128x64, k128}},
    {2, {128, 128}, {&Costs::chains_2_128x128, k256}},
    {4, {64, 64}, {&Costs::chains_4_64x64, k256}},
    {4, {32, 64}, {&Costs::chains_4_32x64, k128}},
    {4, {64, 32}, {&Costs::chains_4_64x32, k128}},
    {4, {32, 128}, {&Costs::chains_4_32x128, k128}},
    {4, {32, 32}, {&Costs::chains_4_32x32, k128}, {&Costs::chains_4_32x32_near, &Costs::chains_near_blocks}},
    {8, {32, 32}, {&Costs::chains_8_32x32, k128}},
    {8, {64, 16}, {&Costs::chains_8_64x16, k128}},
    {16, {32, 16}, {&Costs::chains_16_32x16, k128}},
};

/// Those for units of so many bytes.
std::span<const Rated> shapes_of(int unit) {
  const Rated* const first = std::ranges::lower_bound(kShapes, unit, {}, &Rated::unit);
  return {first, std::ranges::upper_bound(kShapes, unit, {}, &Rated::unit)};
}
constexpr std::size_t kMostShapes = 5;
static_assert(std::ranges::is_sorted(kShapes, {}, &Rated::unit));

/// The first modes of a side's chain as rows of a tile: where they start, the part of each shape that is wasted at the
/// tiles' ends, and the cost of the rows themselves. Fitted, like the shapes, to times on an H200; README.md says of
/// which layouts.
struct Rows {
  Link link;
  std::int64_t starts_on = 0;
  bool words = false;  ///< they are whole words and start on words
  double used[kMostShapes] = {};
  double shared[kMostShapes] = {};  ///< bytes that a tile touches beside its part of a row, by that part's
  double yield = 1;
};

/// A side of the copy, as its rows see it.
struct Side {
  std::int64_t align;
  std::int64_t CopyMode::*stride;
  std::int32_t TileShape::*along;
  std::int64_t grain;  ///< bytes that memory moves at once: 64 in reading; a sector in writing, which L2 gathers
};

Rows rows_of(const Canonical& c, const Link& chain, std::size_t count, const Side& side) {
  Rows rows;
  rows.link = first_of(c, chain, count);
  rows.starts_on = rows_on(c, rows.link, side.align, side.stride);
  rows.words = rows.starts_on >= kWordBytes && rows.link.extent * c.dst_unit % kWordBytes == 0;
  const std::span<const Rated> shapes = shapes_of(c.dst_unit);
  for (std::size_t k = 0; k < shapes.size() && rows.words; ++k) {
    const std::int64_t along = shapes[k].shape.*side.along;
    rows.used[k] = used_by(rows.link.extent, along);
    rows.shared[k] = static_cast<double>(std::max<std::int64_t>(side.grain - rows.starts_on, 0)) /
                     static_cast<double>(std::min(rows.link.extent, along) * c.dst_unit);
  }
  return rows;
}

/// True when dst's rows follow each other along the first mode of src's chain.
bool rows_join(const Canonical& c, const Link& d, std::size_t s) {
  return c.modes[s].dst_stride == d.extent * c.dst_unit;
}

/// Rows of dst that start inside sectors share these with rows of other tiles, and half of the shared sectors meet in
/// L2; where rows join, the sectors are the same tile's.
double dst_yield(const Costs& k, const Canonical& c, const Rows& d, std::size_t s) {
  if (d.starts_on >= kSectorBytes || rows_join(c, d.link, s)) return 1;
  const std::int64_t bytes = d.link.extent * c.dst_unit, runs = c.units / d.link.extent;
  const double shared =
      static_cast<double>(sectors(runs, bytes, d.starts_on)) * kSectorBytes / static_cast<double>(c.dst_bytes());
  return k.chains_dst_shared / (k.chains_dst_fixed + k.chains_dst_more * shared);
}

/// Rows of src that start off lines, that are short, or so long that tiles side by side are written far apart.
double src_yield(const Costs& k, const Canonical& c, const Rows& s) {
  const int log = std::bit_width(static_cast<std::uint64_t>(s.link.extent * c.src_unit)) - 1;
  double yield = s.starts_on <= kSectorBytes ? k.chains_src_off_lines : 1.0;
  yield *= 1 - k.chains_src_short * std::max(0, kSizes.chains_short_src - log);
  yield *= 1 - k.chains_src_long * std::clamp(log - kSizes.chains_long_src, 0, kSizes.chains_most_doublings);
  for (const std::uint8_t m : s.link.modes)
    if (c.modes[m].dst_stride > c.modes[s.link.modes[0]].dst_stride) return k.chains_order * yield;
  return yield;
}

/// The speed that remains if neighbouring tiles share grains of a row. dst_yield counts the grains of dst, except for
/// rows that join: the larger the share of sectors that are written in parts, the longer these wait. For units of other
/// sizes the rows' own yields contain it.
double shared_yield(const Costs& costs, const Canonical& c, const Rows& d, const Rows& s, std::size_t k) {
  if (c.dst_unit != 4) return 1;
  const double writing = rows_join(c, d.link, s.link.modes[0]) ? costs.chains_writing * d.shared[k] * d.shared[k] : 0;
  return std::max(costs.chains_writing_least, 1 - writing) * std::pow(1 + s.shared[k], costs.chains_shared_power);
}

/// True where a mode outside comes after src's chain in dst, and one of the sides has several modes.
bool written_near(const Canonical& c, const Link& d, const Link& s) {
  if (d.modes.size() + s.modes.size() == 2) return false;
  const std::int64_t along = c.modes[s.modes[0]].dst_stride;
  return std::any_of(c.modes.begin(), c.modes.end(), [&](const CopyMode& m) { return m.dst_stride > along; });
}

/// The best shape for rows of both sides, which together reach `yield`, if it beats `best`.
void rate(const Canonical& c, const CudaMachine& machine, const Rows& d, const Rows& s, double yield, Pair& best) {
  // Lanes behind the ends of dst's rows skip their work; lanes behind src's still move words within the block.
  const Costs& costs = *machine.costs;
  const double cut_d = c.dst_unit < 4 ? costs.chains_cut_d_small : costs.chains_cut_d;
  const double cut_s = c.dst_unit < 4 ? costs.chains_cut_s_small : costs.chains_cut_s;
  const double digits =
      d.link.modes.size() + s.link.modes.size() > 2 ? costs.chains_digits : 1;  // lanes that find rows by dividing
  const bool near = written_near(c, d.link, s.link);
  const std::span<const Rated> shapes = shapes_of(c.dst_unit);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Rated& r = shapes[k];
    const Rated::Reach& reach = near ? r.near : r.reach;
    const double used = d.used[k] * s.used[k];
    double efficiency = costs.*reach.full * yield * shared_yield(costs, c, d, s, k) * (1 - cut_d * (1 - d.used[k])) *
                        (1 - cut_s * (1 - s.used[k])) * std::min(1.0, used / (costs.*reach.enough * digits));
    if (efficiency <= best.efficiency) continue;
    const double tiles = static_cast<double>(c.units) / (used * r.shape.d * r.shape.s);
    efficiency *= tiles / (tiles + costs.chains_wave * machine.sm_count);
    if (efficiency > best.efficiency) best = {d.link, s.link, r.shape, efficiency};
  }
}

}  // namespace

Pair best_pair(const Canonical& c, const CudaMachine& machine) {
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  if (longest_d.modes.empty() || longest_s.modes.empty()) return {};
  detail::FixedVector<Rows, kMaxChain> sources;
  for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
    sources.push_back(rows_of(c, longest_s, j, {c.src_align, &CopyMode::src_stride, &TileShape::s, 2 * kSectorBytes}));
    sources[j - 1].yield = src_yield(*machine.costs, c, sources[j - 1]);
  }
  Pair best;
  for (std::size_t i = 1; i <= longest_d.modes.size(); ++i) {
    Rows d = rows_of(c, longest_d, i, {c.dst_align, &CopyMode::dst_stride, &TileShape::d, kSectorBytes});
    if (!d.words) continue;
    d.yield = dst_yield(*machine.costs, c, d, longest_s.modes[0]);
    for (const Rows& s : sources) {
      if ((d.link.mask & s.link.mask) != 0) break;
      if (!s.words) continue;
      // The mode that goes on where dst's rows end is theirs: in src's chain it would come long after them.
      const bool against = i < longest_d.modes.size() && (s.link.mask >> longest_d.modes[i] & 1) != 0;
      rate(c, machine, d, s, d.yield * s.yield * (against ? machine.costs->chains_against : 1), best);
    }
  }
  return best;
}

}  // namespace restride::cuda::chains
