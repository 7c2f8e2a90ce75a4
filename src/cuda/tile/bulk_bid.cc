// Tiles that bulk tensor copies bring in: the ones that the copy engine can describe, their shapes and their speed.
#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda::tiles {

using layout::Canonical;

bool by_bulk(const Canonical& c, std::size_t s) {
  if (c.modes.size() - 2 > static_cast<std::size_t>(kMaxBulkOuter)) return false;
  if (c.cast && !(c.src_unit < c.dst_unit && c.dst_unit <= 4)) return false;
  constexpr std::int64_t kMaxStride = (std::int64_t{1} << 40) - 16;
  const int units = 16 / c.dst_unit;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i != s && (c.modes[i].src_stride <= 0 || c.modes[i].src_stride > kMaxStride / (i == 0 ? units : 1)))
      return false;
  return c.modes[0].extent % units == 0 && c.modes[s].extent * c.src_unit < (std::int64_t{1} << 31);
}

namespace {

/// What the engine fetches into L2 at a time.
constexpr std::int64_t kFetchBytes = 256;

/// Shape and depth of a tile that the copy engine brings in. A fetch is twice as much of a row as the fastest tiles
/// need; that pays if the neighbouring tiles come soon.
struct BulkTile {
  TileShape shape;
  std::int64_t stages = 1;
  bool wins = true;
};
BulkTile bulk_tile_of(const Costs& k, const Canonical& c, const Tiling& t) {
  if (c.cast) {
    if (c.src_unit == 2) return {{64, 64}};
    return c.dst_unit == 4 ? BulkTile{{64, 128}} : BulkTile{{128, 128}};
  }
  // Few tiles at a time, so that neighbours meet in L2 while the sectors they share are still there.
  if (t.splits_sectors() && c.dst_unit <= 2) return {c.dst_unit == 1 ? TileShape{128, 128} : TileShape{128, 64}, 2};
  constexpr TileShape kNarrow[] = {{128, 128}, {64, 64}, {64, 32}, {32, 32}, {32, 16}};
  constexpr TileShape kWide[] = {{128, 256}, {64, 128}, {64, 64}, {32, 32}, {32, 16}};
  const int i = c.dst_unit == 1 ? 0 : c.dst_unit == 2 ? 1 : c.dst_unit == 4 ? 2 : c.dst_unit == 8 ? 3 : 4;
  const TileShape narrow = kNarrow[i];
  const std::int64_t until_beside =
      saturated_mul(ceil_div(t.d_extent, narrow.d) * t.near, narrow.d * narrow.s * c.src_unit);
  // The bytes behind the end of a row belong to the next row, or are wasted; rows that do not lie on 64 bytes end
  // inside a fetch.
  const std::int64_t row_bytes = t.s_extent * c.src_unit;
  const bool ends_matter = static_cast<double>(row_bytes) < k.bulk_short_row_bytes &&
                           (c.modes[0].src_stride != row_bytes || t.src_alignment < 2 * kSectorBytes);
  if (static_cast<double>(until_beside) <= k.bulk_soon_bytes) return {narrow, 1, !ends_matter && !t.splits_sectors()};
  return {kWide[i], 1, t.src_alignment >= kFetchBytes && !t.splits_sectors()};
}

/// What tiles by bulk copies reach. What is not converted, ordinary loads bring in as fast: units of 1 and 2 bytes in
/// larger tiles, and rows of src that lie a multiple of 4 KiB apart.
double bulk_reach(const Costs& k, const Canonical& c) {
  if (c.cast) return k.bulk_cast;
  if (c.dst_unit < 4) return k.bulk_small;
  if (c.dst_unit == 16 || c.modes[0].src_stride % kSizes.bulk_far_bytes == 0) return k.bulk_far;
  return c.dst_unit == 4 ? k.bulk_words : k.bulk_doubles;
}

}  // namespace

void offer_bulk(const Canonical& c, const CudaMachine& machine, const Tiling& t, Candidate& bid) {
  const Costs& k = *machine.costs;
  const BulkTile tile = bulk_tile_of(k, c, t);
  const double reach = bulk_reach(k, c) - (tile.wins ? 0 : k.bulk_loses);
  offer(c, machine, t, tile.shape, t.skewed() ? kSector : 0, reach, bid);
  if (!bid.applies) return;
  bid.params.push_back({ParamId::kStages, tile.stages});
  if (tile.stages == 1) return;
  const std::int64_t stage_bytes = std::int64_t{tile.shape.d} * tile.shape.s * c.src_unit;
  const std::int64_t blocks =
      machine.sm_count * std::max<std::int64_t>(1, static_cast<std::int64_t>(k.bulk_staged_bytes) / stage_bytes);
  for (plan::Param& p : bid.params)
    if (p.id == ParamId::kBlocks) p.value = blocks;
}

}  // namespace restride::cuda::tiles
