// The bid of tile on CUDA, and its kernel's arguments.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;

namespace {

/// The mode that is contiguous in src, or -1.
int src_mode(const Canonical& c) {
  for (std::size_t i = 0; i < c.modes.size() && i < 64; ++i)
    if (std::abs(c.modes[i].src_stride) == c.src_unit) return static_cast<int>(i);
  return -1;
}

/// Units of a tile: the kernel's usual instance for the unit, or one for copies too small to fill the GPU with it.
maps::TileShape shape_of(const Canonical& c, bool small) {
  if (c.cast) return maps::tile_cast_shape(c.dst_unit, c.src_unit);
  switch (c.dst_unit) {
    case 1: return small ? maps::TileShape{128, 128} : maps::TileShape{128, 256};
    case 2: return small ? maps::TileShape{64, 64} : maps::TileShape{64, 128};
    case 4: return small ? maps::TileShape{32, 32} : maps::TileShape{64, 64};
    case 8: return small ? maps::TileShape{32, 32} : maps::TileShape{32, 64};
    default: return small ? maps::TileShape{16, 16} : maps::TileShape{32, 32};
  }
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Candidate bid_tile(const Canonical& c, const CudaMachine& machine) {
  constexpr Family kFamily = Family::kTile;
  if (c.two_sided) return refusal(kFamily, "the sides share no modes");
  if (c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return refusal(kFamily, "dst has no dense mode");
  const int s = src_mode(c);
  if (s < 0) return refusal(kFamily, "src has no dense mode");
  if (s == 0) return refusal(kFamily, "both sides share the innermost mode");
  if (!units_aligned(c)) return refusal(kFamily, "elements lie off their own alignment");
  if (!moves_or_converts(c)) return refusal(kFamily, "no kernel for this pair of dtypes");
  const auto& d_mode = c.modes[0];
  const auto& s_mode = c.modes[static_cast<std::size_t>(s)];
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  if (d_mode.extent >= kLimit || s_mode.extent >= kLimit) return refusal(kFamily, "an extent of 2^30 or more");
  maps::Walk walk;
  std::int64_t batch = 0;
  const std::uint64_t inside = std::uint64_t{1} | std::uint64_t{1} << s;
  if (!outer_walk(c, inside, &walk, &batch)) return refusal(kFamily, "too many outer modes");

  Candidate bid;
  bid.family = kFamily;
  const std::int64_t alignment = row_alignment(c, 1);
  const std::int64_t boundary = alignment >= 16 ? 0 : 32;
  const bool small = c.dst_bytes() < static_cast<std::int64_t>(machine.sm_count) * (32 << 10);
  maps::TileShape shape = shape_of(c, small);
  if (boundary != 0 && !small && !c.cast && c.dst_unit == 4) shape.s = 128;  // longer rows of src outweigh their ragged ends
  const std::int64_t tile_d = shape.d, tile_s = shape.s;
  const std::int64_t tiles =
      ceil_div(d_mode.extent + (boundary != 0 ? boundary / c.dst_unit - 1 : 0), tile_d) * ceil_div(s_mode.extent, tile_s);
  if (tiles >= (std::int64_t{1} << 31) / batch) return refusal(kFamily, "too many tiles");
  bid.params = {{ParamId::kRowMode, 0},        {ParamId::kColMode, s},     {ParamId::kTileRows, tile_d},
                {ParamId::kTileCols, tile_s},  {ParamId::kVectorBytes, 16}, {ParamId::kThreads, maps::kTileThreads},
                {ParamId::kBoundaryBytes, boundary}, {ParamId::kOrder, 0}};
  std::int64_t src_bits = c.src_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (static_cast<int>(i) != s) src_bits |= c.modes[i].src_stride;
  const std::int64_t read = sectors(c.units / s_mode.extent, s_mode.extent * c.src_unit, src_bits & -src_bits);
  const std::int64_t written = sectors(c.units / d_mode.extent, d_mode.extent * c.dst_unit, alignment);
  // Part of a tile that is cut off at the edge still costs its block's time.
  const double used = static_cast<double>(d_mode.extent) * static_cast<double>(s_mode.extent) /
                      (static_cast<double>(tiles) * static_cast<double>(tile_d * tile_s));
  predict(bid, c, machine, read, written, 0.95 * std::pow(used, 0.65) * (boundary != 0 ? 0.95 : 1.0));
  return bid;
}

bool tile_in_registers(const Canonical& c, const Candidate& chosen) {
  if (c.cast || c.dst_unit > 2 || chosen.get(ParamId::kBoundaryBytes) != 0) return false;
  const auto s = static_cast<std::size_t>(chosen.get(ParamId::kColMode));
  std::int64_t bits = c.src_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i != s) bits |= c.modes[i].src_stride;
  if (c.modes[s].src_stride < 0) bits |= (c.modes[s].extent - 1) * c.modes[s].src_stride;
  return (bits & 3) == 0;
}

maps::TileArgs tile_args(const Canonical& c, const Candidate& chosen) {
  const auto s = static_cast<std::size_t>(chosen.get(ParamId::kColMode));
  const auto& d_mode = c.modes[0];
  const auto& s_mode = c.modes[s];
  maps::TileArgs a;
  std::int64_t batch = 0;
  outer_walk(c, std::uint64_t{1} | std::uint64_t{1} << s, &a.batch, &batch);
  const ByteRange range = source_range(c);
  a.src_first = range.first;
  a.src_last = range.last;
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.src_pitch = d_mode.src_stride;
  a.dst_pitch = s_mode.dst_stride;
  if (s_mode.src_stride < 0) {  // walk the source forwards, and its rows of dst backwards
    a.src_offset += (s_mode.extent - 1) * s_mode.src_stride;
    a.dst_offset += (s_mode.extent - 1) * s_mode.dst_stride;
    a.dst_pitch = -a.dst_pitch;
  }
  a.d_extent = static_cast<std::int32_t>(d_mode.extent);
  a.s_extent = static_cast<std::int32_t>(s_mode.extent);
  a.tile_d = static_cast<std::int32_t>(chosen.get(ParamId::kTileRows));
  a.tile_s = static_cast<std::int32_t>(chosen.get(ParamId::kTileCols));
  const auto boundary = static_cast<std::int32_t>(chosen.get(ParamId::kBoundaryBytes));
  const int units = 16 / c.dst_unit;
  int overlap = 0;  // words along d that the skew adds
  if (boundary != 0) {
    a.skew_mask = boundary - 1;
    a.halo = boundary / c.dst_unit;
    overlap = a.halo - 1;
  }
  const std::int64_t tiles_d = ceil_div(d_mode.extent + overlap, a.tile_d);
  const std::int64_t tiles_s = ceil_div(s_mode.extent, a.tile_s);
  a.tiles_d = base::FastDiv(tiles_d);
  a.tiles_s = base::FastDiv(tiles_s);
  a.tiles = static_cast<std::uint32_t>(tiles_d * tiles_s * batch);
  a.along_src = static_cast<std::uint8_t>(chosen.get(ParamId::kOrder));

  const std::int32_t row_bytes = a.tile_s * c.src_unit;
  const auto low = static_cast<std::int32_t>(a.src_pitch & 15);
  // Rows of src all start on a word, or may start anywhere and take a word more.
  std::int64_t bits = c.src_align | a.src_pitch | row_bytes;
  if (s_mode.src_stride < 0) bits |= (s_mode.extent - 1) * s_mode.src_stride;
  for (int i = 0; i < a.batch.rank; ++i) bits |= a.batch.src_stride[i];
  const bool on_words = (bits & 15) == 0;
  a.row_words = base::FastDiv((row_bytes + 15) / 16 + (on_words ? 0 : 1));
  a.row_pitch = (row_bytes + 15) / 16 * 16 + (on_words ? 0 : 16) + low;
  // Words of dst must start an odd number of 16-byte groups apart; see maps::tile_store.
  a.group_pad = units * a.row_pitch % 32 == 0 ? 16 : 0;
  a.dst_dtype = static_cast<std::uint8_t>(c.dst_dtype);
  a.src_dtype = static_cast<std::uint8_t>(c.src_dtype);
  return a;
}

}  // namespace restride::plan
