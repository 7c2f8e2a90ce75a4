// Which of tile's CUDA kernels a copy allows, and their arguments: what all of them begin with, and those of tile.cu,
// tile_aligned.cu and tile_bulk.cu.
#include <algorithm>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/cuda/bids.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

std::int64_t src_row_alignment(const Canonical& c, std::size_t s) {
  std::int64_t bits = c.src_align >= 128 ? 256 : c.src_align;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i != s) bits |= c.modes[i].src_stride;
  if (c.modes[s].src_stride < 0) bits |= (c.modes[s].extent - 1) * c.modes[s].src_stride;
  return bits & -bits;
}

std::int64_t near_tuples(const Canonical& c, std::uint64_t inside, std::int64_t along_s) {
  std::int64_t near = 1;
  for (std::size_t i = 0; i < c.modes.size() && c.modes[i].dst_stride < along_s; ++i)
    if (i >= 64 || (inside >> i & 1) == 0) near *= c.modes[i].extent;
  return near;
}

bool tile_on_words(const Canonical& c, std::int64_t col_mode) {
  return row_alignment(c, 1) >= 16 && src_row_alignment(c, static_cast<std::size_t>(col_mode)) >= 16;
}

bool tile_by_bulk(const Canonical& c, std::int64_t col_mode) {
  const auto s = static_cast<std::size_t>(col_mode);
  if (!tile_on_words(c, col_mode) || c.modes.size() - 2 > static_cast<std::size_t>(kMaxBulkOuter)) return false;
  if (c.cast && !(c.src_unit < c.dst_unit && c.dst_unit <= 4)) return false;
  constexpr std::int64_t kMaxStride = (std::int64_t{1} << 40) - 16;
  const int units = 16 / c.dst_unit;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i != s && (c.modes[i].src_stride <= 0 || c.modes[i].src_stride > kMaxStride / (i == 0 ? units : 1)))
      return false;
  return c.modes[0].extent % units == 0 && c.modes[s].extent * c.src_unit < (std::int64_t{1} << 31);
}

bool tile_in_registers(const Canonical& c, std::int64_t col_mode) {
  return !c.cast && c.dst_unit <= 2 && row_alignment(c, 1) >= 16 &&
         src_row_alignment(c, static_cast<std::size_t>(col_mode)) >= 4;
}

TileOrder order_of_tiles(std::int64_t tiles_d, std::int64_t tiles_s) {
  constexpr std::int64_t kMostApart = 512;
  return tiles_d > kMostApart && tiles_s < tiles_d ? TileOrder::kSrc : TileOrder::kDst;
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

TileArgs tile_args(const Canonical& c, const Candidate& chosen) {
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
  a.dst_dtype = static_cast<std::uint8_t>(c.dst_dtype);
  a.src_dtype = static_cast<std::uint8_t>(c.src_dtype);
  return a;
}

}  // namespace restride::cuda
