// Chains of modes rated for a tile's rows: every length of both, with every shape of tile.
#include "src/cuda/tile/chain_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
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

/// The same of a mode that goes on where the ones before it end.
void append_dense(Link& link, const Canonical& c, std::size_t mode) {
  append(link, c, mode);
  link.dense = link.modes.size();
  link.run = link.extent;
}

}  // namespace

Link dst_chain(const Canonical& c) {
  Link link;
  for (std::size_t m = 0; m < c.modes.size() && m < 64 && link.modes.size() < kMaxChain; ++m) {
    if (c.modes[m].dst_stride != link.extent * c.dst_unit || link.extent * c.modes[m].extent >= std::int64_t{1} << 30)
      break;
    append_dense(link, c, m);
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
      append_dense(link, c, m);
      found = true;
    }
  }
  return link;
}

Link first_of(const Canonical& c, const Link& chain, std::size_t count) {
  Link link;
  for (std::size_t i = 0; i < std::min(count, chain.modes.size()); ++i) append_dense(link, c, chain.modes[i]);
  return link;
}

Link link_of(const Canonical& c, std::uint64_t mask, std::int64_t CopyMode::*stride, int unit) {
  detail::FixedVector<std::uint8_t, kMaxChain> order;
  for (std::size_t m = 0; m < c.modes.size() && m < 64; ++m)
    if ((mask >> m & 1) != 0) order.push_back(static_cast<std::uint8_t>(m));
  std::sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) {
    const std::int64_t x = std::abs(c.modes[a].*stride), y = std::abs(c.modes[b].*stride);
    return x != y ? x < y : a < b;
  });
  Link link;
  for (const std::uint8_t m : order)
    if (link.dense == link.modes.size() && c.modes[m].*stride == link.extent * unit)
      append_dense(link, c, m);
    else
      append(link, c, m);
  return link;
}

namespace {

/// Largest power of two, up to 128, that divides where the dense runs of a side's rows start; `stride` is that side's,
/// of a mode.
std::int64_t rows_on(const Canonical& c, const Link& link, std::int64_t align, std::int64_t CopyMode::*stride) {
  std::uint64_t inside = 0;
  for (std::size_t i = 0; i < link.dense; ++i) inside |= std::uint64_t{1} << link.modes[i];
  std::int64_t bits = align | 128;
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m >= 64 || (inside >> m & 1) == 0) bits |= c.modes[m].*stride;
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

/// True where a chain's offsets fit WordChain: all of it lies within 2^32 words, on either side.
bool fits_words(const Canonical& c, const Link& link) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 32) * kWordBytes;
  std::int64_t dst = 0, src = 0;
  for (const std::uint8_t m : link.modes) {
    const CopyMode& mode = c.modes[m];
    if (mode.dst_stride >= (kMost - dst) / mode.extent || std::abs(mode.src_stride) >= (kMost - src) / mode.extent)
      return false;
    dst += mode.extent * mode.dst_stride;
    src += mode.extent * std::abs(mode.src_stride);
  }
  return true;
}

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
  rows.words =
      rows.starts_on >= kWordBytes && rows.link.extent * c.dst_unit % kWordBytes == 0 && fits_words(c, rows.link);
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

// ---- All modes in one of both chains ----

/// A tile's shape for these, and what a full one reaches.
struct WholeRated {
  int unit;
  TileShape shape;
  double Costs::*full;
};
constexpr WholeRated kWholeShapes[] = {
    {1, {128, 256}, &Costs::whole_1_128x256}, {1, {256, 128}, &Costs::whole_1_256x128},
    {4, {64, 64}, &Costs::whole_4_64x64},     {4, {64, 128}, &Costs::whole_4_64x128},
    {8, {32, 64}, &Costs::whole_8_32x64},     {8, {64, 32}, &Costs::whole_8_64x32},
    {16, {32, 16}, &Costs::whole_16_32x16},   {16, {32, 32}, &Costs::whole_16_32x32},
};

/// Bytes of the pieces that a tile `along` units long takes of a row: a chain that breaks off has its breaks anywhere
/// in a tile.
double piece_bytes(const Link& link, std::int64_t along, int unit) {
  const auto run = static_cast<double>(link.run * unit);
  if (link.run < link.extent) return 1 / (1 / run + 1 / static_cast<double>(along * unit));
  return run / static_cast<double>(ceil_div(link.run, along));
}

double halvings(double bytes, double of) { return std::max(0.0, std::log2(of / bytes)); }

/// The best shape for two chains that share out all modes, if it beats `best`. Fitted to all such pairs of chains of
/// ttc57, of copies of every width in the case files and of 100 random ones, timed on an H200 and on an H100.
void rate_whole(const Canonical& c, const CudaMachine& machine, const Link& d, const Link& s, Pair& best) {
  const Costs& k = *machine.costs;
  const int unit = c.dst_unit;
  const std::int64_t d_on = rows_on(c, d, c.dst_align, &CopyMode::dst_stride);
  const std::int64_t s_on = rows_on(c, s, c.src_align, &CopyMode::src_stride);
  if (std::min(d_on, s_on) < kWordBytes || (d.run | s.run) * unit % kWordBytes != 0 || !fits_words(c, d) ||
      !fits_words(c, s))
    return;
  constexpr double kPage = 1024;
  const auto step = [](std::int64_t bytes) {
    return std::max(0.0, std::log2(static_cast<double>(std::abs(bytes)) / kPage));
  };
  const double far_lost = k.whole_far + (s_on < 2 * kSectorBytes ? k.whole_far_shared : 0);
  const double steps =
      k.whole_src_step * step(c.modes[d.modes[0]].src_stride) + k.whole_dst_step * step(c.modes[s.modes[0]].dst_stride);
  for (const WholeRated& r : kWholeShapes) {
    if (r.unit != unit || 2 * d.extent < r.shape.d || 2 * s.extent < r.shape.s) continue;
    const double dst_piece = piece_bytes(d, r.shape.d, unit), src_piece = piece_bytes(s, r.shape.s, unit);
    const double used = used_by(d.extent, r.shape.d) * used_by(s.extent, r.shape.s);
    const bool far =
        s.run > r.shape.s &&
        static_cast<double>(d.extent) * std::min<double>(r.shape.s, s.extent) * unit * 2 > k.whole_soon_bytes;
    const double lost = steps + k.whole_src_piece * halvings(src_piece, 256) +
                        k.whole_dst_piece * halvings(dst_piece, 256) + (far ? far_lost : 0) +
                        k.whole_unused * (1 - used);
    const double shared = static_cast<double>(std::max<std::int64_t>(kSectorBytes - d_on, 0)) / dst_piece;
    double efficiency = k.*r.full * std::exp(-lost) * std::pow(1 + shared, k.whole_shared_power);
    const double tiles = static_cast<double>(c.units) / (used * r.shape.d * r.shape.s);
    efficiency *= tiles / (tiles + k.chains_wave * machine.sm_count);
    if (efficiency > best.efficiency) best = {d, s, r.shape, efficiency};
  }
}

/// Every way to share out all modes: the first ones of a side are its chain, all others the other side's.
void rate_whole(const Canonical& c, const CudaMachine& machine, Pair& best) {
  const std::size_t count = c.modes.size();
  if (count < 2 || count > 2 * kMaxChain || c.modes[0].dst_stride != c.dst_unit ||
      std::none_of(std::begin(kWholeShapes), std::end(kWholeShapes), [&](auto& r) { return r.unit == c.dst_unit; }))
    return;
  std::uint64_t along_src = 0, along_dst = 0, all = (std::uint64_t{1} << count) - 1;
  std::int64_t extent = 1;
  for (const CopyMode& m : c.modes) {
    if (m.src_stride == 0 || m.extent >= (std::int64_t{1} << 30) / extent) return;
    extent *= m.extent;
  }
  detail::FixedVector<std::uint8_t, 2 * kMaxChain> order;
  for (std::size_t m = 0; m < count; ++m) order.push_back(static_cast<std::uint8_t>(m));
  std::sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) {
    return std::abs(c.modes[a].src_stride) < std::abs(c.modes[b].src_stride);
  });
  if (c.modes[order[0]].src_stride != c.src_unit) return;
  const auto rate_split = [&](std::uint64_t src) {
    const auto modes = static_cast<std::size_t>(std::popcount(src));
    if (modes > kMaxChain || count - modes > kMaxChain) return;
    rate_whole(c, machine, link_of(c, all & ~src, &CopyMode::dst_stride, c.dst_unit),
               link_of(c, src, &CopyMode::src_stride, c.src_unit), best);
  };
  for (std::size_t i = 0; i + 1 < count && order[i] != 0; ++i) {
    along_src |= std::uint64_t{1} << order[i];
    rate_split(along_src);
  }
  for (std::size_t m = 0; m + 1 < count && m != order[0]; ++m) {
    along_dst |= std::uint64_t{1} << m;
    rate_split(all & ~along_dst);
  }
}

}  // namespace

Pair best_pair(const Canonical& c, const CudaMachine& machine) {
  Pair best;
  rate_whole(c, machine, best);
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  if (c.modes.size() < 3 || longest_d.modes.empty() || longest_s.modes.empty()) return best;
  detail::FixedVector<Rows, kMaxChain> sources;
  for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
    sources.push_back(rows_of(c, longest_s, j, {c.src_align, &CopyMode::src_stride, &TileShape::s, 2 * kSectorBytes}));
    sources[j - 1].yield = src_yield(*machine.costs, c, sources[j - 1]);
  }
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
