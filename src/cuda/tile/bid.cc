// The bids of tile's kernels for two modes on CUDA: by ordinary loads, where rows start on words and where they start
// anywhere, and by bulk tensor copies.
#include <algorithm>
#include <initializer_list>

#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda {

using layout::Canonical;
using namespace tiles;

namespace {

/// The best of some shapes, the fastest first: one that short rows fill may be faster.
TileShape fitting(const Costs& k, const Tiling& t, std::initializer_list<TileShape> shapes) {
  TileShape best = *shapes.begin();
  double best_yield = 0, full = 1;
  for (const TileShape shape : shapes) {
    const double d = used_by(t.d_extent, shape.d), s = used_by(t.s_extent, shape.s);
    const double yield = full * (1 - k.tile_shape_cut * (1 - d)) * (1 - k.tile_shape_cut * (1 - s)) *
                         std::min(1.0, k.tile_shape_least + k.tile_shape_used * d * s);
    if (yield > best_yield) best = shape, best_yield = yield;
    full -= k.tile_shape_step;
  }
  return best;
}

/// Units of a tile for ordinary loads; measured on H200, as are all choices below (docs/cuda.md).
TileShape shape_of(const Costs& k, const Canonical& c, const Tiling& t) {
  if (c.cast) return tile_cast_shape(c.dst_unit, c.src_unit);
  // Where tiles share sectors of dst, long rows of dst have fewer to share.
  const bool long_rows =
      t.on_words() && t.splits_sectors() && !t.small && t.d_extent * c.dst_unit >= kSizes.tile_long_bytes;
  switch (c.dst_unit) {
    case 1: {
      if (long_rows) return {256, 128};
      // A short row of src that ends in the first half of a tile wastes the other.
      constexpr std::int32_t kWide = 256, kHalf = kWide / 2;
      const bool half = t.on_words() &&
                        (t.near > 1 || (t.s_extent < kSizes.tile_short_src_bytes && (t.s_extent - 1) % kWide < kHalf));
      return {128, t.small || half ? kHalf : kWide};
    }
    case 2:
      if (long_rows) return {256, 64};
      if (t.small) return {64, 64};
      return t.on_words() ? fitting(k, t, {{64, 128}, {128, 64}, {64, 64}}) : TileShape{64, 128};
    case 4:
      if (t.small) return {32, 32};
      if (t.skewed()) return {64, 128};  // longer rows of src outweigh their ragged ends
      if (long_rows) return {128, 32};
      return t.on_words() ? fitting(k, t, {{64, 64}, {64, 32}, {128, 32}}) : TileShape{64, 64};
    case 8:
      if (t.small) return {32, 32};
      if (!t.on_words()) return {32, 64};
      return long_rows ? TileShape{64, 32} : fitting(k, t, {{32, 32}, {64, 32}});
    default: return t.small ? TileShape{16, 16} : TileShape{32, 16};
  }
}

/// A tile for ordinary loads.
void by_loads(const Request& request, const Tiling& t, std::int64_t boundary, Candidate& bid) {
  const Canonical& c = request.c;
  const Costs& k = *request.machine.costs;
  const double on_words = c.dst_unit == 16 ? k.tile_whole_words : k.tile_on_words;
  double reach = boundary != 0 ? k.tile_skewed : on_words;
  // Words that become halves lose no more than the unused parts of their tiles.
  const bool halved = c.dst_unit == 2 && c.src_unit > 2;
  if (c.cast && boundary != 0 && !halved) {
    const auto row = static_cast<double>(t.d_extent * c.dst_unit);
    reach *= (row + k.tile_cast_ends) / (row + 2 * k.tile_cast_ends);
  }
  offer(c, request.machine, t, shape_of(k, c, t), boundary, reach, bid);
}

void aligned(const Request& request, const Tiling& t, Candidate& bid) {
  if (!t.on_words()) return refuse(bid, "rows do not all start on 16-byte words");
  by_loads(request, t, 0, bid);
}

/// The same copy as the kernels see it for which rows of src may start off words.
Tiling off_words(Tiling t) {
  t.src_alignment = std::min<std::int64_t>(t.src_alignment, 8);
  return t;
}

void registers(const Request& request, const Tiling& t, Candidate& bid) {
  if (!in_registers(request.c, static_cast<std::size_t>(t.s)))
    return refuse(bid, "no small units whose rows start on 16-byte words of dst, on 4 bytes of src");
  if (request.forces("tile/registers")) return by_loads(request, off_words(t), 0, bid);
  if (t.on_words()) return refuse(bid, "rows on words are for tile/aligned");
  if (t.skewed()) return refuse(bid, "tiles that keep to sectors of dst are for tile/unaligned");
  by_loads(request, t, 0, bid);
}

void unaligned(const Request& request, const Tiling& t, Candidate& bid) {
  const Canonical& c = request.c;
  const bool forced = request.forces("tile/unaligned");
  if (c.dst_unit == 16 && !c.cast) return refuse(bid, "units that are words always start on words");
  if (t.on_words() && !forced) return refuse(bid, "rows on words are for tile/aligned");
  const Tiling anywhere = t.on_words() ? off_words(t) : t;
  if (!anywhere.skewed() && !forced && in_registers(c, static_cast<std::size_t>(t.s)))
    return refuse(bid, "small units on 4 bytes are for tile/registers");
  by_loads(request, anywhere, anywhere.skewed() ? kSector : 0, bid);
}

void bulk(const Request& request, const Tiling& t, Candidate& bid) {
  const CudaMachine& machine = request.machine;
  if (machine.cc_major < 9) return refuse(bid, "bulk tensor copies need sm_90");
  if (!machine.bulk_copies)
    return refuse(bid, "bulk tensor copies need kernels compiled for sm_90; this GPU runs older PTX");
  if (!t.refusal.empty()) return refuse(bid, t.refusal);
  if (t.small) return refuse(bid, "too small for bulk tensor copies to pay");
  if (!t.on_words() || !by_bulk(request.c, static_cast<std::size_t>(t.s)))
    return refuse(bid, "bulk tensor copies want rows on words, whole groups of rows, two outer modes at most");
  offer_bulk(request.c, machine, t, bid);
}

}  // namespace

void bid_tiles(const Request& request, std::span<Candidate> bids) {
  const Tiling t = tiling_of(request.c, request.machine);
  bulk(request, t, bids[3]);
  if (!t.refusal.empty()) return refuse_all(bids.first(3), t.refusal);
  aligned(request, t, bids[0]);
  registers(request, t, bids[1]);
  unaligned(request, t, bids[2]);
}

void prepare_tiles(const Canonical& c, const Candidate& chosen, CudaArgs& out) { out.args = two_mode_tiles(c, chosen); }

void prepare_bulk_tiles(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  out.args = BulkTileArgs{two_mode_tiles(c, chosen), static_cast<std::int32_t>(chosen.get(ParamId::kStages, 1))};
}

}  // namespace restride::cuda
