// The bid of tile's kernel for pixels on CUDA, and its arguments.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/cuda/tile/pixels_map.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using namespace tiles;

namespace {

/// What moves as one, 3 units or a single one, and the modes of a tile: `d`, along which they follow each other in dst,
/// and `s`, the same in src.
struct Pixels {
  int bytes = 0;  ///< 0: no tile applies
  int d = 0, s = 0;
  bool backwards = false;
  std::uint64_t inside() const { return inside_row() | std::uint64_t{1} << s; }
  std::uint64_t inside_row() const { return d == 0 ? 1 : 3; }
};

Pixels pixels_of(const Canonical& c) {
  if (c.two_sided || c.cast || c.dst_unit > 2 || c.modes.size() < 2) return {};
  const CopyMode& first = c.modes[0];
  if (first.dst_stride != c.dst_unit) return {};
  Pixels p{c.dst_unit, 0, 0, false};
  if (std::abs(first.src_stride) == c.dst_unit) {
    if (first.extent != 3 || c.modes.size() < 3 || c.modes[1].dst_stride != 3 * c.dst_unit) return {};
    p = {3 * c.dst_unit, 1, 0, first.src_stride < 0};
  }
  for (std::size_t i = static_cast<std::size_t>(p.d) + 1; i < c.modes.size() && i < 64; ++i)
    if (std::abs(c.modes[i].src_stride) == p.bytes) p.s = static_cast<int>(i);
  return p.s == 0 ? Pixels{} : p;
}

/// Bytes that tiles along d are short of their rows at most: rows of dst start anywhere in a sector.
std::int64_t most_skew(const Canonical& c, const Pixels& p) {
  return std::max<std::int64_t>(0, kSector - row_alignment(c, p.inside_row()));
}

/// From src's data pointer to its first byte that is read by words: pixels and rows of them walked forwards.
std::int64_t first_byte(const Canonical& c, const Pixels& p) {
  const CopyMode& along = c.modes[static_cast<std::size_t>(p.s)];
  return c.src_offset + (p.backwards ? 2 * c.modes[0].src_stride : 0) +
         std::min<std::int64_t>(0, (along.extent - 1) * along.src_stride);
}

/// True when all rows of src and of dst start on 16 bytes.
bool on_words(const Canonical& c, const Pixels& p) {
  std::int64_t bits = c.src_data_align | first_byte(c, p);
  for (std::size_t i = static_cast<std::size_t>(p.d); i < c.modes.size(); ++i)
    if (static_cast<int>(i) != p.s) bits |= c.modes[i].src_stride;
  return bits % 16 == 0 && row_alignment(c, p.inside_row()) >= 16;
}

/// The most lanes of a warp that want different words of one bank when they read their patches. From `enough` on, any
/// number as large.
int bank_cycles(const TileArgs& a, int pixel, int enough) {
  std::array<std::int32_t, 32> word;
  std::array<std::uint8_t, 32> last{},
      before;     // of a bank, its last lane so far; of a lane, its bank's last one before
  int worst = 1;  // lanes are counted from 1
  for (std::size_t lane = 0; lane < word.size() && worst < enough; ++lane) {
    const PixelPatch at = pixel_place(0, static_cast<std::int32_t>(lane), pixel);
    word[lane] = (tile_row_base(a, at.d, pixel_patch(pixel).d) + at.s * pixel) / 4;
    const auto bank = static_cast<std::size_t>(word[lane] & 31);
    before[lane] = last[bank];
    last[bank] = static_cast<std::uint8_t>(lane + 1);
    int met = 1;
    for (std::size_t other = before[lane]; other != 0; other = before[other - 1])
      met += word[other - 1] != word[lane] ? 1 : 0;
    worst = std::max(worst, met);
  }
  return worst;
}

/// What lies between the rows of different patches, so that lanes meet in the fewest banks.
std::int32_t quickest_pad(TileArgs a, int pixel) {
  std::int32_t best = 0;
  int least = 33;
  for (a.group_pad = 0; a.group_pad < kLineBytes && least > 1; a.group_pad += kWordBytes)
    if (const int cycles = bank_cycles(a, pixel, least); cycles < least) {
      best = a.group_pad;
      least = cycles;
    }
  return best;
}

}  // namespace

void bid_pixel_tiles(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate& bid = bids[0];
  const Pixels p = pixels_of(c);
  if (p.bytes == 0) return refuse(bid, "no pixels or bytes whose rows are across");
  const bool units = p.d == 0, words = on_words(c, p);
  if (units && (c.dst_unit != 1 || words || in_registers(c, static_cast<std::size_t>(p.s))))
    return refuse(bid, "units are bytes whose rows start anywhere, or pixels");
  const std::int64_t d_extent = c.modes[static_cast<std::size_t>(p.d)].extent;
  const std::int64_t s_extent = c.modes[static_cast<std::size_t>(p.s)].extent;
  constexpr std::int64_t kLimit = std::int64_t{1} << 28;  // bytes of a row in 31 bits
  if (d_extent >= kLimit || s_extent >= kLimit) return refuse(bid, "an extent of 2^28 or more");
  std::int64_t batch = 0;
  if (!outer_walk(c, p.inside(), nullptr, &batch)) return refuse(bid, "too many outer modes");
  // Tiles as even as whole sectors allow; a shorter last tile costs little.
  const int pixel = p.bytes;
  const std::int64_t step = kSector / c.dst_unit;
  const std::int64_t most = (kPixelGroups * pixel_group(pixel) - pixel_halo(pixel)) / step * step;
  const std::int64_t along = d_extent + ceil_div(most_skew(c, p), pixel);
  const std::int64_t tile_d = ceil_div(ceil_div(along, ceil_div(along, most)), step) * step;
  const std::int64_t tile_s = pixel_tile_s(pixel);
  const std::int64_t tiles_d = ceil_div(along, tile_d), tiles_s = ceil_div(s_extent, tile_s);
  const std::int64_t tiles = tiles_d * tiles_s;
  if (too_many(tiles, batch)) return refuse(bid, "too many tiles");
  bid.params = {{ParamId::kRowMode, p.d},
                {ParamId::kColMode, p.s},
                {ParamId::kTileRows, tile_d},
                {ParamId::kTileCols, tile_s},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, kTileThreads},
                {ParamId::kBoundaryBytes, kSector},
                {ParamId::kOrder, static_cast<std::int64_t>(order_of_tiles(tiles_d, tiles_s))}};
  const std::int64_t row_bytes = s_extent * pixel;
  const std::int64_t read = sectors(c.dst_bytes() / pixel / s_extent, row_bytes,
                                    c.modes[static_cast<std::size_t>(p.d)].src_stride % kSector == 0 ? 32 : 1);
  const std::int64_t written =
      sectors(c.dst_bytes() / pixel / d_extent, d_extent * pixel, most_skew(c, p) == 0 ? 32 : 1);
  const double used = static_cast<double>(d_extent * s_extent) / static_cast<double>(tiles * tile_d * tile_s);
  // A tile's steps cost the same however little of it is inside.
  const auto tile_bytes = static_cast<double>(c.dst_bytes()) / static_cast<double>(tiles * batch);
  // Where halves lie on words on both sides, packed looks them up in fewer steps and keeps more tiles under way.
  const bool halves_on_words = c.dst_unit == 2 && words;
  const Costs& costs = *request.machine.costs;
  const double efficiency = costs.pixel_tiles_full * used * tile_bytes / (tile_bytes + costs.pixel_tiles_lost) *
                            (halves_on_words ? costs.pixel_tiles_halves : 1.0);
  predict(bid, request.machine, read, written, efficiency);
}

void prepare_pixel_tiles(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const Pixels p = pixels_of(c);
  const CopyMode &d_mode = c.modes[static_cast<std::size_t>(p.d)], &s_mode = c.modes[static_cast<std::size_t>(p.s)];
  const int pixel = p.bytes;
  TileArgs a = tiles_over(c, chosen, p.inside(), {d_mode.extent, s_mode.extent}, ceil_div(most_skew(c, p), pixel));
  set_pitches(a, d_mode, s_mode);
  a.src_offset = first_byte(c, p);
  a.skew_mask = kSector - 1;
  a.halo = pixel_halo(pixel);
  // Rows of src lie in shared memory congruent to their addresses modulo 16.
  a.row_pitch = kPixelRowBytes + 16 + static_cast<std::int32_t>(a.src_pitch & 15);
  a.group_pad = quickest_pad(a, pixel);
  out.args = PixelTileArgs{a, pixel, p.backwards};
}

}  // namespace restride::cuda
