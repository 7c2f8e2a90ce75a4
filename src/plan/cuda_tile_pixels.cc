// The bid of tile's kernel for pixels on CUDA, and its arguments.
#include <algorithm>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/maps/tile_pixels.h"
#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;
using layout::CopyMode;

namespace {

constexpr std::int64_t kPixelTiles = 6;  // as ParamId::kEngine counts engines
constexpr std::int64_t kSector = 32;

/// The mode along which pixels follow each other in src, when pixels are what both sides hold; else 0.
int pixel_mode(const Canonical& c) {
  if (c.two_sided || c.cast || c.dst_unit > 2 || c.modes.size() < 3) return 0;
  const CopyMode& units = c.modes[0];
  const std::int64_t pixel = 3 * c.dst_unit;
  if (units.extent != 3 || units.dst_stride != c.dst_unit || std::abs(units.src_stride) != c.dst_unit) return 0;
  if (c.modes[1].dst_stride != pixel) return 0;
  for (std::size_t i = 2; i < c.modes.size() && i < 64; ++i)
    if (std::abs(c.modes[i].src_stride) == pixel) return static_cast<int>(i);
  return 0;
}

std::uint64_t inside(int s) { return std::uint64_t{3} | std::uint64_t{1} << s; }

/// Bytes that tiles along d are short of their rows at most: rows of dst start anywhere in a sector.
std::int64_t most_skew(const Canonical& c, int s) {
  return std::max<std::int64_t>(0, kSector - row_alignment(c, inside(s) & 3));
}

/// From src's data pointer to its first byte that is read by words: pixels and rows of them walked forwards.
std::int64_t first_byte(const Canonical& c, int s) {
  const CopyMode& along = c.modes[static_cast<std::size_t>(s)];
  return c.src_offset + std::min<std::int64_t>(0, 2 * c.modes[0].src_stride) +
         std::min<std::int64_t>(0, (along.extent - 1) * along.src_stride);
}

/// True when all rows of src and of dst start on 16 bytes.
bool on_words(const Canonical& c, int s) {
  std::int64_t bits = c.src_data_align | first_byte(c, s);
  for (std::size_t i = 1; i < c.modes.size(); ++i)
    if (static_cast<int>(i) != s) bits |= c.modes[i].src_stride;
  return bits % 16 == 0 && row_alignment(c, 3) >= 16;
}

}  // namespace

Candidate bid_tile_pixels(const Canonical& c, const CudaMachine& machine) {
  const auto refuse = [](std::string_view why) { return refusal(Family::kTile, why); };
  const int s = pixel_mode(c);
  if (s == 0) return refuse("no pixels of 3 units whose rows are across");
  const std::int64_t d_extent = c.modes[1].extent, s_extent = c.modes[static_cast<std::size_t>(s)].extent;
  constexpr std::int64_t kLimit = std::int64_t{1} << 28;  // bytes of a row in 31 bits
  if (d_extent >= kLimit || s_extent >= kLimit) return refuse("an extent of 2^28 or more");
  maps::Walk walk;
  std::int64_t batch = 0;
  if (!outer_walk(c, inside(s), &walk, &batch)) return refuse("too many outer modes");
  // Tiles as even as whole sectors allow; what the last one lacks costs little.
  const int pixel = 3 * c.dst_unit;
  const std::int64_t step = kSector / c.dst_unit;
  const std::int64_t most = (maps::kPixelGroups - 1) * maps::pixel_group(pixel) / step * step;
  const std::int64_t along = d_extent + ceil_div(most_skew(c, s), pixel);
  const std::int64_t tile_d = ceil_div(ceil_div(along, ceil_div(along, most)), step) * step;
  const std::int64_t tile_s = maps::pixel_tile_s(pixel);
  const std::int64_t tiles = ceil_div(along, tile_d) * ceil_div(s_extent, tile_s);
  if (tiles >= (std::int64_t{1} << 31) / batch) return refuse("too many tiles");
  Candidate bid;
  bid.family = Family::kTile;
  bid.params = {{ParamId::kRowMode, 1},
                {ParamId::kColMode, s},
                {ParamId::kTileRows, tile_d},
                {ParamId::kTileCols, tile_s},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, maps::kTileThreads},
                {ParamId::kBoundaryBytes, kSector},
                {ParamId::kEngine, kPixelTiles}};
  const std::int64_t row_bytes = s_extent * pixel;
  const std::int64_t read = sectors(c.units / (3 * s_extent), row_bytes, c.modes[1].src_stride % kSector == 0 ? 32 : 1);
  const std::int64_t written = sectors(c.units / (3 * d_extent), d_extent * pixel, most_skew(c, s) == 0 ? 32 : 1);
  const double used = static_cast<double>(d_extent * s_extent) / static_cast<double>(tiles * tile_d * tile_s);
  // A tile's steps cost the same however little of it is inside.
  const auto tile_bytes = static_cast<double>(c.dst_bytes()) / static_cast<double>(tiles * batch);
  // Where halves lie on words on both sides, packed looks them up in fewer steps and keeps more tiles under way.
  const bool halves_on_words = c.dst_unit == 2 && on_words(c, s);
  const double efficiency = 1.03 * used * tile_bytes / (tile_bytes + 3000) * (halves_on_words ? 0.86 : 1.0);
  predict(bid, c, machine, read, written, efficiency);
  return bid;
}

maps::TileArgs tile_pixels_args(const Canonical& c, const Candidate& chosen) {
  const auto s = static_cast<std::size_t>(chosen.get(ParamId::kColMode));
  const CopyMode &d_mode = c.modes[1], &s_mode = c.modes[s];
  const int pixel = 3 * c.dst_unit, block = maps::pixel_block(pixel).d;
  maps::TileArgs a;
  std::int64_t batch = 0;
  outer_walk(c, inside(static_cast<int>(s)), &a.batch, &batch);
  const ByteRange range = source_range(c);
  a.src_first = range.first;
  a.src_last = range.last;
  a.dst_offset = c.dst_offset;
  a.src_offset = first_byte(c, static_cast<int>(s));
  a.src_pitch = d_mode.src_stride;
  a.dst_pitch = s_mode.dst_stride;
  if (s_mode.src_stride < 0) {  // walk the source forwards, and its rows of dst backwards
    a.dst_offset += (s_mode.extent - 1) * s_mode.dst_stride;
    a.dst_pitch = -a.dst_pitch;
  }
  a.d_extent = static_cast<std::int32_t>(d_mode.extent);
  a.s_extent = static_cast<std::int32_t>(s_mode.extent);
  a.tile_d = static_cast<std::int32_t>(chosen.get(ParamId::kTileRows));
  a.tile_s = static_cast<std::int32_t>(chosen.get(ParamId::kTileCols));
  a.skew_mask = kSector - 1;
  a.halo = maps::pixel_group(pixel);
  const std::int64_t tiles_d = ceil_div(d_mode.extent + ceil_div(most_skew(c, static_cast<int>(s)), pixel), a.tile_d);
  const std::int64_t tiles_s = ceil_div(s_mode.extent, a.tile_s);
  a.tiles_d = base::FastDiv(tiles_d);
  a.tiles_s = base::FastDiv(tiles_s);
  a.near_batches = base::FastDiv(1);
  a.tiles = static_cast<std::uint32_t>(tiles_d * tiles_s * batch);
  a.blocks = a.tiles;
  // Rows of src lie in shared memory congruent to their addresses modulo 16. The blocks of a warp that lie side by side
  // along dst read 8 banks each, so they best start 8 or 24 apart.
  a.row_pitch = maps::kPixelRowBytes + 16 + static_cast<std::int32_t>(a.src_pitch & 15);
  std::int32_t least = 128;
  for (std::int32_t pad = 0; pad < 128; pad += 16) {
    const std::int32_t apart = (block * a.row_pitch + pad) % 128;
    const std::int32_t off = std::min(std::abs(apart - 32), std::abs(apart - 96));
    if (off < least) a.group_pad = pad, least = off;
  }
  return a;
}

}  // namespace restride::plan
