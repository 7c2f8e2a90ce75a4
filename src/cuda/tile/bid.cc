// The bids of tile on CUDA, by ordinary loads and by bulk tensor copies.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bids.h"

namespace restride::cuda {

using layout::Canonical;

namespace {

constexpr std::int64_t kSector = 32;

/// The mode that is contiguous in src, or -1.
int src_mode(const Canonical& c) {
  for (std::size_t i = 0; i < c.modes.size() && i < 64; ++i)
    if (std::abs(c.modes[i].src_stride) == c.src_unit) return static_cast<int>(i);
  return -1;
}

/// What both bids have to know of a copy.
struct Tiling {
  std::string_view refusal;  ///< empty: a tile applies
  int s = 0;                 ///< the mode that is contiguous in src; mode 0 is the one that is in dst
  std::int64_t d_extent = 0, s_extent = 0, batch = 1;
  std::int64_t near = 1;  ///< tuples of the outer modes whose steps in dst are shorter than those along s
  std::int64_t dst_alignment = 1, src_alignment = 1;
  int outer = 0;       ///< outer modes
  bool small = false;  ///< too small to fill the GPU with large tiles
  bool words = false;  ///< units of dst are words: what is converted to them starts on one always

  bool on_words() const { return dst_alignment >= 16 && src_alignment >= 16; }
  /// Tiles keep their edges to sectors of dst, wherever its rows start.
  bool skewed() const { return dst_alignment < 16 || (dst_alignment < kSector && src_alignment < 16 && !words); }
  /// Rows of dst start on words, but not on sectors: neighbouring tiles share some.
  bool splits_sectors() const { return dst_alignment == 16 && !skewed(); }
};

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
  t.small = c.dst_bytes() < static_cast<std::int64_t>(machine.sm_count) * (32 << 10);
  return t;
}

/// The best of some shapes, the fastest first: one that short rows fill may be faster.
TileShape fitting(const Tiling& t, std::initializer_list<TileShape> shapes) {
  TileShape best;
  double best_yield = 0, full = 1;
  for (const TileShape shape : shapes) {
    const double d = used_by(t.d_extent, shape.d), s = used_by(t.s_extent, shape.s);
    const double yield = full * (1 - 0.12 * (1 - d)) * (1 - 0.12 * (1 - s)) * std::min(1.0, 0.7 + 0.6 * d * s);
    if (yield > best_yield) best = shape, best_yield = yield;
    full -= 0.01;
  }
  return best;
}

/// Units of a tile for ordinary loads; measured on H200, as are all choices below (docs/cuda.md).
TileShape shape_of(const Canonical& c, const Tiling& t) {
  if (c.cast) return tile_cast_shape(c.dst_unit, c.src_unit);
  // Where tiles share sectors of dst, long rows of dst have fewer to share.
  const bool long_rows = t.on_words() && t.splits_sectors() && !t.small && t.d_extent * c.dst_unit >= 512;
  switch (c.dst_unit) {
    case 1: {
      if (long_rows) return {256, 128};
      // A short row of src that ends in the first half of a tile wastes the other.
      const bool half = t.on_words() && (t.near > 1 || (t.s_extent < 4096 && (t.s_extent - 1) % 256 < 128));
      return {128, t.small || half ? 128 : 256};
    }
    case 2:
      if (long_rows) return {256, 64};
      if (t.small) return {64, 64};
      return t.on_words() ? fitting(t, {{64, 128}, {128, 64}, {64, 64}}) : TileShape{64, 128};
    case 4:
      if (t.small) return {32, 32};
      if (t.skewed()) return {64, 128};  // longer rows of src outweigh their ragged ends
      if (long_rows) return {128, 32};
      return t.on_words() ? fitting(t, {{64, 64}, {64, 32}, {128, 32}}) : TileShape{64, 64};
    case 8:
      if (t.small) return {32, 32};
      if (!t.on_words()) return {32, 64};
      return long_rows ? TileShape{64, 32} : fitting(t, {{32, 32}, {64, 32}});
    default: return t.small ? TileShape{16, 16} : TileShape{32, 16};
  }
}

/// The order of tiles: the near outer modes first when that does not leave lines of dst half written.
TileOrder order_of(const Tiling& t, std::int64_t tiles_d, std::int64_t tiles_s) {
  if (t.near > 1) return t.dst_alignment >= kLineBytes ? TileOrder::kNear : TileOrder::kDst;
  if (t.src_alignment >= kLineBytes) return TileOrder::kDst;  // no line is read twice
  return order_of_tiles(tiles_d, tiles_s);
}

/// What tiles lose that are cut off at the edges, `used` of them being inside, and that lie far apart. Fitted to 101 of
/// the shipped cases on H200: blocks of whose tile half is used are as fast as full ones, for there are enough of them.
double yield_of(const Canonical& c, const Tiling& t, double used) {
  const int unit = c.dst_unit;
  // Small units that start anywhere are moved to their place one by one.
  const double small = unit == 1 ? 0.7 : unit == 2 ? 0.85 : 1.0;
  // So are bytes that were converted, after the whole tile was: its empty part costs more than a full one's.
  if (!t.on_words() && c.cast && unit == 1) return std::pow(used, 1.4) * small;
  if (!t.on_words()) return std::pow(used, unit < 4 || !t.skewed() ? 0.65 : 0.3) * small;
  const double cube = used * used * used;
  return cube / (cube + (unit >= 8 ? 0.05 : 0.02)) * (t.near > 1 ? 0.9 : 1.0);
}

/// The parameters and the prediction that both kernels share.
Candidate offer(const Canonical& c, const CudaMachine& machine, const Tiling& t, TileShape shape, double efficiency) {
  Candidate bid;
  const std::int64_t boundary = t.skewed() ? kSector : 0;
  const std::int64_t skew = boundary != 0 ? boundary / c.dst_unit - 1 : 0;
  const std::int64_t tiles_d = ceil_div(t.d_extent + skew, shape.d), tiles_s = ceil_div(t.s_extent, shape.s);
  const std::int64_t tiles = tiles_d * tiles_s;
  if (too_many(tiles, t.batch)) return refusal("too many tiles");
  bid.params = {{ParamId::kRowMode, 0},
                {ParamId::kColMode, t.s},
                {ParamId::kTileRows, shape.d},
                {ParamId::kTileCols, shape.s},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, kTileThreads},
                {ParamId::kBoundaryBytes, boundary},
                {ParamId::kOrder, static_cast<std::int64_t>(order_of(t, tiles_d, tiles_s))}};
  const std::int64_t read =
      sectors(c.units / t.s_extent, t.s_extent * c.src_unit, std::min<std::int64_t>(t.src_alignment, 128));
  const std::int64_t written = sectors(c.units / t.d_extent, t.d_extent * c.dst_unit, t.dst_alignment);
  const double used = static_cast<double>(t.d_extent) * static_cast<double>(t.s_extent) /
                      (static_cast<double>(tiles) * static_cast<double>(shape.d * shape.s));
  predict(bid, c, machine, read, written, efficiency * yield_of(c, t, used));
  return bid;
}

/// Shape and depth of a tile that the copy engine brings in. The engine fetches 256 bytes into L2 at a time, twice what
/// the fastest tiles want of a row; that pays when the tiles beside them come soon.
struct BulkTile {
  TileShape shape;
  std::int64_t stages = 1;
  bool wins = true;
};
BulkTile bulk_tile_of(const Canonical& c, const Tiling& t) {
  if (c.cast) {
    if (c.src_unit == 2) return {{64, 64}};
    return c.dst_unit == 4 ? BulkTile{{64, 128}} : BulkTile{{128, 128}};
  }
  // Few tiles at a time, so that neighbours meet in L2 while the sectors they share are still there.
  if (t.splits_sectors() && c.dst_unit <= 2) return {c.dst_unit == 1 ? TileShape{128, 128} : TileShape{128, 64}, 2};
  constexpr TileShape kNarrow[] = {{128, 128}, {64, 64}, {64, 32}, {32, 32}, {32, 16}};
  constexpr TileShape kWide[] = {{128, 256}, {64, 128}, {64, 64}, {32, 32}, {32, 16}};
  const int i = c.dst_unit == 1 ? 0 : c.dst_unit == 2 ? 1 : c.dst_unit == 4 ? 2 : c.dst_unit == 8 ? 3 : 4;
  constexpr std::int64_t kSoonBytes = 6 << 20;
  const TileShape narrow = kNarrow[i];
  const std::int64_t until_beside =
      saturated_mul(ceil_div(t.d_extent, narrow.d) * t.near, narrow.d * narrow.s * c.src_unit);
  // What lies behind the end of a row is the next row, or wasted; rows off 64 bytes end in the middle of what is
  // fetched.
  const std::int64_t row_bytes = t.s_extent * c.src_unit;
  const bool ends_matter = row_bytes < 1024 && (c.modes[0].src_stride != row_bytes || t.src_alignment < 64);
  if (until_beside <= kSoonBytes) return {narrow, 1, !ends_matter && !t.splits_sectors()};
  return {kWide[i], 1, t.src_alignment >= 256 && !t.splits_sectors()};
}

/// What tiles by bulk copies reach. What is not converted, ordinary loads bring in as fast: units of 1 and 2 bytes in
/// larger tiles, and rows of src that lie a multiple of 4 KiB apart.
double bulk_reach(const Canonical& c) {
  if (c.cast) return 0.955;
  if (c.dst_unit < 4) return 0.93;
  if (c.dst_unit == 16 || c.modes[0].src_stride % 4096 == 0) return 0.945;
  return c.dst_unit == 4 ? 0.958 : 0.976;
}

}  // namespace

Candidate bid_tile(const Canonical& c, const CudaMachine& machine) {
  const Tiling t = tiling_of(c, machine);
  if (!t.refusal.empty()) return refusal(t.refusal);
  return offer(c, machine, t, shape_of(c, t), t.skewed() ? 0.9025 : c.dst_unit == 16 ? 0.97 : 0.95);
}

Candidate bid_tile_bulk(const Canonical& c, const CudaMachine& machine) {
  const auto refuse = [](std::string_view why) { return refusal(why); };
  if (machine.cc_major < 9) return refuse("bulk tensor copies need sm_90");
  if (!machine.bulk_copies)
    return refuse("bulk tensor copies need kernels compiled for sm_90; this GPU runs older PTX");
  const Tiling t = tiling_of(c, machine);
  if (!t.refusal.empty()) return refuse(t.refusal);
  if (t.small) return refuse("too small for bulk tensor copies to pay");
  if (!tile_by_bulk(c, t.s))
    return refuse("bulk tensor copies want rows on words, whole groups of rows, two outer modes at most");
  const BulkTile tile = bulk_tile_of(c, t);
  Candidate bid = offer(c, machine, t, tile.shape, tile.wins ? bulk_reach(c) : bulk_reach(c) - 0.025);
  if (!bid.applies) return bid;
  bid.params.push_back({ParamId::kStages, tile.stages});
  if (tile.stages > 1) {
    const std::int64_t stage_bytes = std::int64_t{tile.shape.d} * tile.shape.s * c.src_unit;
    bid.params.push_back({ParamId::kBlocks, machine.sm_count * std::max<std::int64_t>(1, (16 << 10) / stage_bytes)});
  }
  return bid;
}

}  // namespace restride::cuda
