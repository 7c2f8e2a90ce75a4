#include "src/cuda/tile/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "src/base/checked.h"

namespace restride::cuda::tiles {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// The mode that is contiguous in src, or -1.
int src_mode(const Canonical& c) {
  for (std::size_t i = 0; i < c.modes.size() && i < 64; ++i)
    if (std::abs(c.modes[i].src_stride) == c.src_unit) return static_cast<int>(i);
  return -1;
}

}  // namespace

Tiling tiling_of(const Canonical& c, const CudaMachine& machine) {
  Tiling t;
  const auto refuse = [&t](std::string_view why) {
    t.refusal = why;
    return t;
  };
  if (c.two_sided) return refuse("the sides share no modes");
  if (c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return refuse("dst has no dense mode");
  t.s = src_mode(c);
  if (t.s < 0) return refuse("src has no dense mode");
  if (t.s == 0) return refuse("both sides share the innermost mode");
  if (!units_aligned(c)) return refuse("elements lie off their own alignment");
  if (!moves_or_converts(c)) return refuse("no kernel that converts such units");
  const auto& s_mode = c.modes[static_cast<std::size_t>(t.s)];
  t.d_extent = c.modes[0].extent;
  t.s_extent = s_mode.extent;
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  if (t.d_extent >= kLimit || t.s_extent >= kLimit) return refuse("an extent of 2^30 or more");
  const std::uint64_t inside = std::uint64_t{1} | std::uint64_t{1} << t.s;
  if (!outer_walk(c, inside, nullptr, &t.batch)) return refuse("too many outer modes");
  t.outer = c.rank() - 2;
  t.words = c.dst_unit == 16;
  t.near = near_tuples(c, inside, s_mode.dst_stride);
  t.dst_alignment = row_alignment(c, 1);
  t.src_alignment = src_row_alignment(c, static_cast<std::size_t>(t.s));
  t.small = c.dst_bytes() < machine.sm_count * kSizes.tile_small_share;
  return t;
}

std::int64_t near_tuples(const Canonical& c, std::uint64_t inside, std::int64_t along_s) {
  std::int64_t near = 1;
  for (std::size_t i = 0; i < c.modes.size() && c.modes[i].dst_stride < along_s; ++i)
    if (i >= 64 || (inside >> i & 1) == 0) near *= c.modes[i].extent;
  return near;
}

bool in_registers(const Canonical& c, std::size_t s) {
  return !c.cast && c.dst_unit <= 2 && row_alignment(c, 1) >= 16 && src_row_alignment(c, s) >= 4;
}

namespace {

/// The order of tiles: the near outer modes first when that does not leave lines of dst half written.
TileOrder order_of(const Tiling& t, std::int64_t tiles_d, std::int64_t tiles_s) {
  if (t.near > 1) return t.dst_alignment >= kLineBytes ? TileOrder::kNear : TileOrder::kDst;
  if (t.src_alignment >= kLineBytes) return TileOrder::kDst;  // no line is read twice
  return order_of_tiles(tiles_d, tiles_s);
}

/// What tiles lose that are cut off at the edges, `used` of them being inside, and that lie far apart. Fitted to 101 of
/// the shipped cases on H200: blocks of whose tile half is used are as fast as full ones, for there are enough of them.
double yield_of(const Costs& k, const Canonical& c, const Tiling& t, double used) {
  const int unit = c.dst_unit;
  // Small units that start anywhere are moved to their place one by one.
  const double small = unit == 1 ? k.tile_small_bytes : unit == 2 ? k.tile_small_halves : 1.0;
  // So are bytes that were converted, after the whole tile was: its empty part costs more than a full one's.
  if (!t.on_words() && c.cast && unit == 1) return std::pow(used, k.tile_used_cast_bytes) * small;
  if (!t.on_words())
    return std::pow(used, unit < 4 || !t.skewed() ? k.tile_used_off_words : k.tile_used_skewed) * small;
  const double cube = used * used * used;
  return cube / (cube + (unit >= 8 ? k.tile_cube_wide : k.tile_cube)) * (t.near > 1 ? k.tile_near : 1.0);
}

}  // namespace

void offer(const Canonical& c, const CudaMachine& machine, const Tiling& t, TileShape shape, std::int64_t boundary,
           double efficiency, Candidate& bid) {
  const std::int64_t skew = boundary != 0 ? boundary / c.dst_unit - 1 : 0;
  const std::int64_t tiles_d = ceil_div(t.d_extent + skew, shape.d), tiles_s = ceil_div(t.s_extent, shape.s);
  const std::int64_t tiles = tiles_d * tiles_s;
  if (too_many(tiles, t.batch)) return refuse(bid, "too many tiles");
  bid.params = {{ParamId::kRowMode, 0},
                {ParamId::kColMode, t.s},
                {ParamId::kTileRows, shape.d},
                {ParamId::kTileCols, shape.s},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, kTileThreads},
                {ParamId::kBoundaryBytes, boundary},
                {ParamId::kOrder, static_cast<std::int64_t>(order_of(t, tiles_d, tiles_s))},
                {ParamId::kBlocks, tiles * t.batch}};
  const std::int64_t read =
      sectors(c.units / t.s_extent, t.s_extent * c.src_unit, std::min<std::int64_t>(t.src_alignment, 128));
  const std::int64_t written = sectors(c.units / t.d_extent, t.d_extent * c.dst_unit, t.dst_alignment);
  const double used = static_cast<double>(t.d_extent) * static_cast<double>(t.s_extent) /
                      (static_cast<double>(tiles) * static_cast<double>(shape.d * shape.s));
  predict(bid, machine, read, written, efficiency * yield_of(*machine.costs, c, t, used));
}

TileArgs tiles_over(const Canonical& c, const Candidate& chosen, std::uint64_t inside, TileExtent extent,
                    std::int64_t overlap) {
  TileArgs a;
  std::int64_t batch = 0;
  outer_walk(c, inside, &a.batch, &batch);
  set_sides(a, c);
  a.d_extent = narrowed<std::int32_t>(extent.d);
  a.s_extent = narrowed<std::int32_t>(extent.s);
  a.tile_d = narrowed<std::int32_t>(chosen.get(ParamId::kTileRows));
  a.tile_s = narrowed<std::int32_t>(chosen.get(ParamId::kTileCols));
  const std::int64_t tiles_d = ceil_div(extent.d + overlap, a.tile_d), tiles_s = ceil_div(extent.s, a.tile_s);
  a.tiles_d = base::FastDiv(tiles_d);
  a.tiles_s = base::FastDiv(tiles_s);
  a.near_batches = base::FastDiv(1);
  a.order = static_cast<TileOrder>(chosen.get(ParamId::kOrder));
  a.tiles = narrowed<std::uint32_t>(tiles_d * tiles_s * batch);
  a.blocks = a.tiles;
  return a;
}

void set_pitches(TileArgs& a, const CopyMode& d_mode, const CopyMode& s_mode) {
  a.src_pitch = d_mode.src_stride;
  a.dst_pitch = s_mode.dst_stride;
  if (s_mode.src_stride >= 0) return;
  a.src_offset += (s_mode.extent - 1) * s_mode.src_stride;
  a.dst_offset += (s_mode.extent - 1) * s_mode.dst_stride;
  a.dst_pitch = -a.dst_pitch;
}

TileArgs two_mode_tiles(const Canonical& c, const Candidate& chosen) {
  const auto s = static_cast<std::size_t>(chosen.get(ParamId::kColMode));
  const CopyMode &d_mode = c.modes[0], &s_mode = c.modes[s];
  const auto boundary = static_cast<std::int32_t>(chosen.get(ParamId::kBoundaryBytes));
  const std::int32_t halo = boundary / c.dst_unit;
  const std::uint64_t inside = std::uint64_t{1} | std::uint64_t{1} << s;
  TileArgs a = tiles_over(c, chosen, inside, {d_mode.extent, s_mode.extent}, std::max(0, halo - 1));
  set_pitches(a, d_mode, s_mode);
  a.skew_mask = std::max(0, boundary - 1);
  a.halo = halo;
  a.near_batches = base::FastDiv(near_tuples(c, inside, s_mode.dst_stride));
  a.blocks = narrowed<std::uint32_t>(std::clamp<std::int64_t>(chosen.get(ParamId::kBlocks, a.tiles), 1, a.tiles));

  const std::int32_t row_bytes = a.tile_s * c.src_unit;
  const auto low = static_cast<std::int32_t>(a.src_pitch & 15);
  // Rows of src all start on a word, or may start anywhere and take a word more.
  const bool on_words = src_row_alignment(c, s) >= 16;
  a.row_words = base::FastDiv((row_bytes + 15) / 16 + (on_words ? 0 : 1));
  a.row_pitch = (row_bytes + 15) / 16 * 16 + (on_words ? 0 : 16) + low;
  // Words of dst must start an odd number of 16-byte groups apart; see tile_store.
  const int units = 16 / c.dst_unit;
  a.group_pad = units * a.row_pitch % 32 == 0 ? 16 : 0;
  set_dtypes(a, c);
  return a;
}

}  // namespace restride::cuda::tiles
