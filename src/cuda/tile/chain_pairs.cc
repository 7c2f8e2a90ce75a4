// Chains of modes rated for a tile's rows: every length of both, and every way to share out all modes, with every shape
// of tile.
#include "src/cuda/tile/chain_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
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

/// A tile's shape, and the share of a copy's speed that it reaches before all losses.
struct Rated {
  int unit;
  TileShape shape;
  double Costs::*full;
};
constexpr Rated kShapes[] = {
    {1, {128, 128}, &Costs::chains_1_128x128}, {1, {128, 256}, &Costs::chains_1_128x256},
    {1, {256, 128}, &Costs::chains_1_256x128}, {1, {64, 256}, &Costs::chains_1_64x256},
    {1, {64, 128}, &Costs::chains_1_64x128},   {2, {64, 128}, &Costs::chains_2_64x128},
    {2, {64, 64}, &Costs::chains_2_64x64},     {2, {32, 128}, &Costs::chains_2_32x128},
    {2, {128, 64}, &Costs::chains_2_128x64},   {2, {128, 128}, &Costs::chains_2_128x128},
    {4, {64, 64}, &Costs::chains_4_64x64},     {4, {32, 64}, &Costs::chains_4_32x64},
    {4, {64, 32}, &Costs::chains_4_64x32},     {4, {32, 32}, &Costs::chains_4_32x32},
    {4, {32, 128}, &Costs::chains_4_32x128},   {4, {64, 128}, &Costs::chains_4_64x128},
    {8, {32, 32}, &Costs::chains_8_32x32},     {8, {64, 16}, &Costs::chains_8_64x16},
    {8, {32, 64}, &Costs::chains_8_32x64},     {8, {64, 32}, &Costs::chains_8_64x32},
    {16, {32, 16}, &Costs::chains_16_32x16},   {16, {32, 32}, &Costs::chains_16_32x32},
};

/// Those for units of so many bytes.
std::span<const Rated> shapes_of(int unit) {
  const Rated* const first = std::ranges::lower_bound(kShapes, unit, {}, &Rated::unit);
  return {first, std::ranges::upper_bound(kShapes, unit, {}, &Rated::unit)};
}
constexpr std::size_t kMostShapes = 6;
static_assert(std::ranges::all_of(kShapes, [](const Rated& r) {
  return std::ranges::count(kShapes, r.unit, &Rated::unit) <= std::ptrdiff_t{kMostShapes};
}));
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

/// Bytes of the pieces that a tile `along` units long takes of a row: a chain that breaks off has its breaks anywhere
/// in a tile.
double piece_bytes(const Link& link, std::int64_t along, int unit) {
  const auto run = static_cast<double>(link.run * unit);
  if (link.run < link.extent) return 1 / (1 / run + 1 / static_cast<double>(along * unit));
  return run / static_cast<double>(ceil_div(link.run, along));
}

/// A side of the copy.
struct Side {
  std::int64_t align;
  std::int64_t CopyMode::*stride;
  std::int32_t TileShape::*along;
  std::int64_t grain;    ///< bytes that memory moves at once: 64 in reading, a sector in writing
  double Costs::*piece;  ///< lost to short pieces of rows
  double Costs::*cut;    ///< lost to what nothing fills
};
constexpr Side side_of_dst(const Canonical& c) {
  return {c.dst_align,  &CopyMode::dst_stride,    &TileShape::d,
          kSectorBytes, &Costs::chains_dst_piece, &Costs::chains_cut_d};
}
constexpr Side side_of_src(const Canonical& c) {
  return {c.src_align,      &CopyMode::src_stride,    &TileShape::s,
          2 * kSectorBytes, &Costs::chains_src_piece, &Costs::chains_cut_s};
}

/// A chain as rows of a tile. What is lost is the logarithm of a speed, so that losses add up.
struct Rows {
  Link link;
  std::int64_t starts_on = 0;
  bool words = false;  ///< they are whole words, start on words, and offsets fit
  double edge = 0;     ///< share of a dense run's grains that one edge of a tile cuts, on average
  double lost[kMostShapes] = {};
  double log_used[kMostShapes] = {};  ///< of the share that is filled
  std::int64_t pieces[kMostShapes] = {};
};

void set_rows(const Canonical& c, const Costs& k, const Side& side, Rows& rows) {
  constexpr double kEnough = 256;  // bytes of a piece
  const Link& link = rows.link;
  rows.starts_on = rows_on(c, link, side.align, side.stride);
  rows.words =
      link.dense > 0 && rows.starts_on >= kWordBytes && link.run * c.dst_unit % kWordBytes == 0 && fits_words(c, link);
  if (!rows.words) return;
  rows.edge = static_cast<double>(side.grain - std::min(rows.starts_on, side.grain)) /
              static_cast<double>(link.run * c.dst_unit);
  const std::span<const Rated> shapes = shapes_of(c.dst_unit);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::int64_t along = shapes[i].shape.*side.along;
    const double used = used_by(link.extent, along);
    rows.pieces[i] = ceil_div(link.run, along);
    rows.log_used[i] = used == 1 ? 0 : std::log(used);
    const double short_by = kEnough / piece_bytes(link, along, c.dst_unit);
    rows.lost[i] = k.*side.cut * (1 - used) + k.*side.piece * (short_by > 1 ? std::log2(short_by) : 0);
  }
}

/// A side's rows: its dense chains by how many modes they have, made once for all pairs that they are in, and one that
/// is all modes but some.
class SideRows {
 public:
  SideRows(const Canonical& c, const Costs& k, const Side& side, const Link& longest) : c_(c), k_(k), side_(side) {
    for (std::size_t n = 1; n <= longest.modes.size(); ++n) {
      dense_.push_back({});
      dense_.back().link = first_of(c, longest, n);
      set_rows(c, k, side, dense_.back());
    }
  }

  std::span<const Rows> dense() const { return {dense_.data(), dense_.size()}; }

  /// The rows of these modes; valid until the next call.
  const Rows& of(std::uint64_t mask) {
    const auto modes = static_cast<std::size_t>(std::popcount(mask));
    if (modes <= dense_.size() && dense_[modes - 1].link.mask == mask) return dense_[modes - 1];
    other_ = {};
    other_.link = link_of(c_, mask, side_.stride, c_.dst_unit);
    set_rows(c_, k_, side_, other_);
    return other_;
  }

 private:
  const Canonical& c_;
  const Costs& k_;
  Side side_;
  detail::FixedVector<Rows, kMaxChain> dense_;
  Rows other_;
};

/// How many edges of tiles cut a dense run: those inside it, and its own end where the next run follows in another
/// tile.
double edges_of(const Rows& rows, bool runs_join, std::size_t shape) {
  const std::int64_t cuts = rows.pieces[shape] - 1;
  return static_cast<double>(cuts > 0 && runs_join ? cuts + 1 : cuts);
}

/// True where tiles beside each other along src share a grain, and L2 has lost it when the second comes.
bool reads_twice(const Canonical& c, const Costs& k, const Rows& d, const Rows& s, std::int64_t along) {
  return s.starts_on < 2 * kSectorBytes && s.link.run > along &&
         static_cast<double>(d.link.extent) * static_cast<double>(along * c.dst_unit) * 2 > k.chains_soon_bytes;
}

/// The best pair so far, and logarithms that all pairs share.
struct Best {
  Pair pair;
  double lost = 1e9;
  double log_enough, log_full[kMostShapes];

  Best(const Costs& k, int unit) : log_enough(std::log(k.chains_enough)) {
    const std::span<const Rated> shapes = shapes_of(unit);
    for (std::size_t i = 0; i < shapes.size(); ++i) log_full[i] = std::log(k.*shapes[i].full);
  }
};

/// The best shape for two chains, if it beats `best`. README.md says to what the numbers were fitted.
void rate(const Canonical& c, const CudaMachine& machine, const Rows& d, const Rows& s, Best& best) {
  const Costs& k = *machine.costs;
  constexpr double kShortStep = 1024;
  const CopyMode &d_mode = c.modes[d.link.modes[0]], &s_mode = c.modes[s.link.modes[0]];
  // A run of dst whose next one follows along src's chain ends in its own tile, or in a neighbour.
  const bool dst_joins = s_mode.dst_stride == d.link.run * c.dst_unit;
  const bool src_joins = d_mode.src_stride == s.link.run * c.dst_unit;
  const bool breaks = d.link.dense < d.link.modes.size() || s.link.dense < s.link.modes.size();
  const bool against = std::any_of(s.link.modes.begin() + 1, s.link.modes.end(),
                                   [&](std::uint8_t m) { return c.modes[m].dst_stride == d.link.run * c.dst_unit; });
  const double step = static_cast<double>(std::abs(d_mode.src_stride)) / kShortStep;
  const double of_pair = (dst_joins ? 0 : k.chains_far * d.edge) + (breaks ? k.chains_breaks : 0) +
                         (against ? k.chains_against : 0) + k.chains_src_step * (step > 1 ? std::log2(step) : 0);
  const auto copies = static_cast<double>(c.units) / static_cast<double>(d.link.extent * s.link.extent);
  const std::span<const Rated> shapes = shapes_of(c.dst_unit);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const TileShape& shape = shapes[i].shape;
    const double without_waves = d.lost[i] + s.lost[i] + of_pair + k.chains_near * d.edge * edges_of(d, dst_joins, i) +
                                 k.chains_reads * s.edge * edges_of(s, src_joins, i) +
                                 (reads_twice(c, k, d, s, shape.s) ? k.chains_late : 0) +
                                 k.chains_idle_power * std::max(0.0, best.log_enough - d.log_used[i] - s.log_used[i]);
    if (without_waves - best.log_full[i] >= best.lost) continue;  // most are; waves only add to it
    const double tiles =
        copies * static_cast<double>(ceil_div(d.link.extent, shape.d) * ceil_div(s.link.extent, shape.s));
    const double lost = without_waves + std::log1p(k.chains_wave * machine.sm_count / tiles) - best.log_full[i];
    if (lost < best.lost) best.pair = {d.link, s.link, shape, 0}, best.lost = lost;
  }
}

/// Every way to share out all modes: the first ones of a side are its chain, all others the other side's.
void rate_shared_out(const Canonical& c, const CudaMachine& machine, SideRows& to, SideRows& from, Best& best) {
  const std::size_t count = c.modes.size();
  if (count < 2 || count > 2 * kMaxChain || c.modes[0].dst_stride != c.dst_unit) return;
  std::uint64_t along_src = 0, along_dst = 0, all = (std::uint64_t{1} << count) - 1;
  std::int64_t extent = 1;
  for (const CopyMode& m : c.modes) {
    if (m.src_stride == 0 || m.extent >= (std::int64_t{1} << 30) / extent) return;
    extent *= m.extent;
  }
  detail::FixedVector<std::uint8_t, 2 * kMaxChain> order;
  for (std::size_t m = 0; m < count; ++m) order.push_back(static_cast<std::uint8_t>(m));
  std::sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) {
    const std::int64_t x = std::abs(c.modes[a].src_stride), y = std::abs(c.modes[b].src_stride);
    return x != y ? x < y : a < b;
  });
  if (c.modes[order[0]].src_stride != c.src_unit) return;
  const auto rate_split = [&](std::uint64_t src) {
    const auto modes = static_cast<std::size_t>(std::popcount(src));
    if (modes > kMaxChain || count - modes > kMaxChain) return;
    const Rows& d = to.of(all & ~src);
    if (!d.words) return;
    const Rows& s = from.of(src);
    if (s.words) rate(c, machine, d, s, best);
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

/// Every length of both dense chains, the modes in neither walked over outside.
void rate_dense(const Canonical& c, const CudaMachine& machine, const SideRows& to, const SideRows& from, Best& best) {
  if (c.modes.size() < 3) return;
  for (const Rows& d : to.dense()) {
    if (!d.words) continue;
    for (const Rows& s : from.dense()) {
      if ((d.link.mask & s.link.mask) != 0) break;
      if (s.words) rate(c, machine, d, s, best);
    }
  }
}

}  // namespace

Pair best_pair(const Canonical& c, const CudaMachine& machine) {
  Best best(*machine.costs, c.dst_unit);
  SideRows to(c, *machine.costs, side_of_dst(c), dst_chain(c)), from(c, *machine.costs, side_of_src(c), src_chain(c));
  rate_dense(c, machine, to, from, best);  // first, and so preferred among equals: it has fewer digits to find
  rate_shared_out(c, machine, to, from, best);
  if (best.lost < 1e9) best.pair.efficiency = std::exp(-best.lost);
  return best.pair;
}

}  // namespace restride::cuda::chains
