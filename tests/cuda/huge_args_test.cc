// The arguments of every CUDA kernel for layouts past 31 and 32 bits, up to steps near 2^60: tiles must cover their
// modes, and what the maps say of the first, the last and some middle tiles must be units of the copy, each at its
// place. No memory is needed for it; sums are checked by 128 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include <restride/restride.hpp>

#include "src/cuda/kernels.h"
#include "src/cuda/planner.h"
#include "tests/cuda/replay.h"
#include "tests/support/huge_layouts.h"

namespace restride {
namespace {

__extension__ using Wide = __int128;

/// A few of [0, count): both ends, the middle, and what lies around multiples of 2^31 and 2^32.
std::vector<std::int64_t> some_of(std::int64_t count) {
  std::vector<std::int64_t> out;
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{1}, count / 3, count / 2, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
        (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32, count - 2, count - 1})
    if (n >= 0 && n < count) out.push_back(n);
  return out;
}

/// A copy whose modes nest in dst, so that a byte of dst tells its index tuple.
class Copy {
 public:
  explicit Copy(layout::Canonical canonical) : c(std::move(canonical)) {}
  const layout::Canonical c;

  /// Fails unless the byte `src` is what belongs to the byte `dst`. Returns the index along each mode.
  std::vector<std::int64_t> expect_pair(std::int64_t dst, std::int64_t src) const {
    std::vector<std::int64_t> index(c.modes.size());
    Wide rest = Wide{dst} - c.dst_offset, from = c.src_offset;
    for (std::size_t m = c.modes.size(); m-- > 0;) {
      const auto& mode = c.modes[m];
      index[m] = static_cast<std::int64_t>(std::clamp<Wide>(rest / mode.dst_stride, 0, mode.extent - 1));
      rest -= Wide{index[m]} * mode.dst_stride;
      from += Wide{index[m]} * mode.src_stride;
    }
    EXPECT_TRUE(rest >= 0 && rest < c.dst_unit) << "dst byte " << dst << " is none of the copy's";
    if (!c.cast) from += rest;
    EXPECT_TRUE(from == src) << "dst byte " << dst << " from src byte " << src << " instead of "
                             << static_cast<std::int64_t>(from);
    return index;
  }
};

void expect_covers(std::int64_t tiles, std::int64_t tile, std::int64_t extent) {
  EXPECT_GE(Wide{tiles} * tile >= extent, true) << tiles << " tiles of " << tile << " for " << extent;
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::RowsArgs& a) {
  const layout::Canonical& c = copy.c;
  const cuda::RowsKind kind = a.kind;
  const bool bytes = kind == cuda::RowsKind::kForward;
  const int unit = bytes ? 1 : c.dst_unit;
  const int units = kind == cuda::RowsKind::kUnit ? 1 : c.cast ? 16 / std::max(c.src_unit, c.dst_unit) : 16 / unit;
  ASSERT_EQ(a.row_units * a.row_count * unit, c.dst_bytes());
  if (a.chunked) {
    ASSERT_EQ(a.blocks, std::int64_t{a.pieces.divisor} * a.row_count);
    expect_covers(std::int64_t{a.pieces.divisor} * a.block_words, units, a.row_units);
  } else {
    expect_covers(a.blocks, a.block_words, std::int64_t{a.pieces.divisor} * a.row_count);
    expect_covers(a.pieces.divisor, units, a.row_units);
  }
  for (const std::int64_t block : some_of(a.blocks))
    for (const std::uint32_t index : {0u, 1u, a.block_words - 1}) {
      const cuda::RowsItem item = cuda::rows_item(a, static_cast<std::uint32_t>(block), index);
      const std::int64_t at = cuda::rows_first_unit(item.word, units, 0);
      if (item.row >= a.row_count || at >= a.row_units) continue;
      const cuda::Offsets row = cuda::row_offsets(a.rows, item.row);
      copy.expect_pair(a.dst_offset + row.dst + at * unit, a.src_offset + row.src + at * a.src_step);
    }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::PixelsArgs& a) {
  const std::int64_t chunk_pixels = std::int64_t{a.steps} * a.step_pixels;
  expect_covers(Wide{a.chunks.divisor} * chunk_pixels < INT64_MAX ? a.chunks.divisor * chunk_pixels : INT64_MAX,
                a.pixel.divisor, a.row_units);
  ASSERT_EQ(a.blocks % a.chunks.divisor, 0u);
  ASSERT_EQ(a.row_units * (a.blocks / a.chunks.divisor), copy.c.units);
  for (const std::int64_t block : some_of(a.blocks)) {
    const cuda::PixelChunk chunk = cuda::pixel_chunk(a, static_cast<std::uint32_t>(block));
    const cuda::Offsets row = cuda::row_offsets(a.rows, chunk.row);
    const std::int64_t unit = chunk.pixel * a.pixel.divisor;
    if (unit >= a.row_units) continue;  // for a row that starts off a word
    for (std::int32_t phase = 0; phase < static_cast<std::int32_t>(a.pixel.divisor); ++phase)
      copy.expect_pair(a.dst_offset + row.dst + (unit + phase) * copy.c.dst_unit,
                       a.src_offset + row.src + chunk.pixel * a.pixel_step + a.offset[phase][0]);
  }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::ShortRowsArgs& a) {
  expect_covers(a.chunks.divisor, std::int64_t{a.steps} * a.step_rows, a.rows);
  ASSERT_EQ(a.blocks / a.chunks.divisor * a.rows * a.lanes.divisor * a.lane_units, copy.c.units);
  for (const std::int64_t block : some_of(a.blocks))
    for (const std::int32_t thread : {0, a.threads - 1}) {
      const cuda::ShortRowsPlace place =
          cuda::short_rows_place(a, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(thread));
      if (place.row >= a.rows) continue;
      const cuda::Offsets at = cuda::row_offsets(a.outer, place.item);
      copy.expect_pair(a.dst_offset + at.dst + place.row * a.dst_step + std::int64_t{place.unit} * copy.c.dst_unit,
                       a.src_offset + at.src + place.row * a.src_step + place.unit * a.src_inside);
    }
}

/// Both kinds of tiles: `row_of_dst` and `row_of_src` tell where rows lie, `dst_unit` and `src_unit` bytes of a unit.
template <class RowOfDst, class RowOfSrc>
void replay_tiles(const Copy& copy, const cuda::TileArgs& a, int dst_unit, int src_unit, bool in_order,
                  RowOfDst row_of_dst, RowOfSrc row_of_src) {
  expect_covers(a.tiles_d.divisor, a.tile_d, a.d_extent);
  expect_covers(a.tiles_s.divisor, a.tile_s, a.s_extent);
  const std::uint32_t batch = a.tiles / (a.tiles_d.divisor * a.tiles_s.divisor);
  ASSERT_EQ(std::int64_t{a.tiles_d.divisor} * a.tiles_s.divisor * batch, a.tiles);
  ASSERT_EQ(Wide{a.d_extent} * a.s_extent * batch * dst_unit == copy.c.dst_bytes(), true);
  for (const std::int64_t tile : some_of(a.tiles)) {
    const cuda::TilePlace place = cuda::tile_place(a, static_cast<std::uint32_t>(tile));
    const cuda::Offsets at = cuda::offsets(a.batch, place.batch);
    ASSERT_LT(place.batch, batch);
    ASSERT_GE(place.d, 0);
    ASSERT_LT(place.d, a.d_extent + a.tile_d);
    const std::int32_t row = std::min(a.tile_s, cuda::tile_units_left(a, place, 0));
    ASSERT_GT(row, 0) << "the tile's rows of src are empty";
    ASSERT_EQ(place.s + cuda::tile_units_left(a, place, 0), a.s_extent);
    for (const std::int32_t word : {0, (row - 1) * src_unit / cuda::kWordBytes})  // in bytes, a tile's row has few
      EXPECT_GT(cuda::tile_units_left(a, place, word * cuda::kWordBytes / src_unit), 0);
    for (const std::int32_t d : {place.d, std::min(place.d + a.tile_d, a.d_extent) - 1})
      for (const std::int32_t s : {place.s, place.s + row - 1}) {
        if (d >= a.d_extent) continue;
        const std::int64_t to = a.dst_offset + at.dst + row_of_dst(s) + std::int64_t{d} * dst_unit;
        if (in_order) copy.expect_pair(to, a.src_offset + at.src + row_of_src(d) + std::int64_t{s} * src_unit);
      }
  }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::TileArgs& a) {
  replay_tiles(
      copy, a, copy.c.dst_unit, copy.c.src_unit, true, [&](std::int64_t s) { return s * a.dst_pitch; },
      [&](std::int64_t d) { return d * a.src_pitch; });
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::PixelTileArgs& p) {
  const cuda::TileArgs& a = p.tile;
  replay_tiles(
      copy, a, p.pixel_bytes, p.pixel_bytes, !p.backwards, [&](std::int64_t s) { return s * a.dst_pitch; },
      [&](std::int64_t d) { return d * a.src_pitch; });
}

void replay(const Copy& copy, const plan::Candidate& k, const cuda::BulkTileArgs& b) {
  const cuda::TileArgs& a = b.tile;
  replay(copy, k, a);
  const int units = 16 / copy.c.dst_unit;
  const cuda::TileTensor tensor = cuda::tile_tensor(a, copy.c.src_unit, units);
  for (const std::int64_t tile : some_of(a.tiles)) {
    const cuda::TileBox box =
        cuda::tile_box(a, cuda::tile_place(a, static_cast<std::uint32_t>(tile)), 0, copy.c.src_unit, units);
    for (int m = 0; m < 5; ++m) {
      EXPECT_TRUE(box.at[m] >= 0 && box.at[m] < tensor.extent[m]) << "box off the tensor";
      EXPECT_LT(tensor.extent[m], std::int64_t{1} << 32);
      EXPECT_LT(tensor.stride_bytes[m], std::int64_t{1} << 40);
    }
  }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::ChainArgs& a) {
  // Words of rows, and what a unit lies behind its word's beginning, less what replay_tiles adds for a dense row.
  const int unit = copy.c.dst_unit, units = 16 / unit;
  const auto word = [&](const cuda::WordChain& chain, std::int32_t n) {
    return cuda::chain_offset(chain, static_cast<std::uint32_t>(n));
  };
  const bool dense = a.dst_words.rank == 1 && a.src_words.rank == 1;
  replay_tiles(
      copy, a.tile, unit, unit, dense, [&](std::int32_t s) { return cuda::bytes_of(word(a.dst_rows, s)); },
      [&](std::int32_t d) { return cuda::bytes_of(word(a.src_rows, d)); });
  for (const std::int64_t d : some_of(a.tile.d_extent))
    for (const std::int64_t s : some_of(a.tile.s_extent)) {
      const auto of_d = static_cast<std::int32_t>(d), of_s = static_cast<std::int32_t>(s);
      copy.expect_pair(a.tile.dst_offset + cuda::bytes_of(word(a.dst_words, of_d / units)) + d % units * unit +
                           cuda::bytes_of(word(a.dst_rows, of_s)),
                       a.tile.src_offset + cuda::bytes_of(word(a.src_words, of_s / units)) + s % units * unit +
                           cuda::bytes_of(word(a.src_rows, of_d)));
    }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::UnalignedChainArgs& a) {
  const auto row = [&a](std::int32_t d) {
    const std::uint32_t line = a.line_rows.quotient(static_cast<std::uint32_t>(d));
    return cuda::chain_offset(a.src_lines, line) +
           (std::int64_t{d} - std::int64_t{line} * a.line_rows.divisor) * a.row_bytes;
  };
  replay_tiles(
      copy, a.tile, copy.c.dst_unit, copy.c.src_unit, true,
      [&a](std::int32_t s) { return cuda::chain_offset(a.dst_rows, static_cast<std::uint32_t>(s)); }, row);
}

void replay(const Copy& copy, const plan::Candidate& k, const cuda::PackedArgs& a) {
  // Of a cut mode: its number, the tiles along it, and how many indices one has.
  struct Cut {
    std::int64_t mode, tiles, chunk;
    bool last(std::int64_t index, std::int64_t extent) const { return index / chunk == tiles - 1 && index < extent; }
  };
  std::vector<Cut> cuts;
  if (const std::int64_t m = k.get(plan::ParamId::kRowMode, -1); m >= 0)
    cuts.push_back({m, a.cuts_d.divisor, k.get(plan::ParamId::kTileRows)});
  if (const std::int64_t m = k.get(plan::ParamId::kColMode, -1); m >= 0 && !a.same_cut)
    cuts.push_back({m, a.cuts_s.divisor, k.get(plan::ParamId::kTileCols)});
  for (const Cut& cut : cuts) {
    const std::int64_t extent = copy.c.modes[static_cast<std::size_t>(cut.mode)].extent;
    expect_covers(cut.tiles, cut.chunk, extent);
    EXPECT_LT(Wide{cut.tiles - 1} * cut.chunk < extent, 2);
  }
  for (const std::int64_t tile : some_of(a.tiles)) {
    const cuda::PackedPlace place = cuda::packed_place(a, static_cast<std::uint32_t>(tile));
    ASSERT_TRUE(place.rows > 0 && place.rows <= a.rows && place.run_units > 0 && place.run_units <= a.run_units);
    ASSERT_TRUE(place.pieces > 0 && place.pieces <= a.pieces);
    ASSERT_TRUE(place.piece_bytes > 0 && place.piece_bytes <= a.piece_bytes);
    for (const std::int32_t row : {0, place.rows - 1})
      for (const std::int32_t p : {0, place.run_units - 1}) {
        const cuda::PackedSum of_row = cuda::packed_row_entry(a, static_cast<std::uint32_t>(row));
        const cuda::PackedSum of_run = cuda::packed_sum(a.run_modes, static_cast<std::uint32_t>(p));
        const std::vector<std::int64_t> index =
            copy.expect_pair(place.dst + of_row.dst + std::int64_t{p} * copy.c.dst_unit,
                             place.src + of_row.src + of_run.src + a.run_inside);
        // The last unit of the last tile is the last of its cut modes, or their first where they are walked backwards.
        if (tile != a.tiles - 1 || row != place.rows - 1 || p != place.run_units - 1) continue;
        for (const Cut& cut : cuts) {
          const auto m = static_cast<std::size_t>(cut.mode);
          EXPECT_TRUE(index[m] == copy.c.modes[m].extent - 1 || (copy.c.modes[m].src_stride < 0 && index[m] == 0))
              << "mode " << m << " ends at " << index[m];
        }
      }
  }
}

void replay(const Copy& copy, const plan::Candidate& k, const cuda::RecordsArgs& a) {
  const layout::Canonical& c = copy.c;
  const int unit = std::min(c.dst_unit, c.src_unit);  // where records and planes change places
  const std::int64_t records = c.modes[static_cast<std::size_t>(k.get(plan::ParamId::kRowMode))].extent;
  const auto expect_record = [&](const cuda::Offsets& at, std::int64_t record) {
    for (const int field : {int{a.to_planes ? a.first : std::uint8_t{0}}, int{a.to_planes ? a.last : a.fields} - 1}) {
      const std::int64_t of_plane = field * a.plane_stride, of_record = record * a.fields + field;
      if (a.to_planes)
        copy.expect_pair(a.dst_offset + at.dst + of_plane + record * c.dst_unit,
                         a.src_offset + at.src + of_record * c.src_unit);
      else
        copy.expect_pair(a.dst_offset + at.dst + of_record * c.dst_unit,
                         a.src_offset + at.src + of_plane + record * c.src_unit);
    }
  };
  if (a.plane_units != 0) {
    ASSERT_EQ(a.plane_units, records);
    expect_covers(a.chunks.divisor, cuda::records_of_tile(unit), records);
    for (const std::int64_t block : some_of(a.blocks)) {
      const cuda::RecordsTile tile = cuda::records_tile(a, static_cast<std::uint32_t>(block), unit);
      ASSERT_LT(tile.from, tile.to);
      expect_record(tile.at, tile.from);
      expect_record(tile.at, tile.to - 1);
    }
    return;
  }
  expect_covers(a.plane_words, a.vector_bytes / unit, records);
  expect_covers(a.chunks.divisor, 32, a.plane_words);
  expect_covers(a.blocks, cuda::kRecordsThreads / 32, a.warps);
  for (const std::int64_t warp : some_of(a.warps)) {
    const cuda::RecordsPlace place = cuda::records_place(a, static_cast<std::uint32_t>(warp));
    ASSERT_LT(place.first, a.plane_words);
    expect_record(place.at, std::int64_t{place.first} * (a.vector_bytes / unit));
    expect_record(place.at,
                  std::min<std::int64_t>((std::int64_t{place.first} + 32) * (a.vector_bytes / unit), records) - 1);
  }
}

template <int kRank>
void replay_direct(const Copy& copy, const cuda::DirectArgs& a) {
  for (const std::int64_t n : some_of(a.units)) {
    cuda::DirectUnit<kRank> at = cuda::direct_unit<kRank>(a, static_cast<std::uint32_t>(n));
    copy.expect_pair(a.dst_offset + n * copy.c.dst_unit, a.src_offset + at.src);
    if (n + 1 == a.units) break;
    cuda::direct_next<kRank>(a, at);
    copy.expect_pair(a.dst_offset + (n + 1) * copy.c.dst_unit, a.src_offset + at.src);
  }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::DirectArgs& a) {
  ASSERT_EQ(a.units, copy.c.units);
  expect_covers(std::int64_t{a.blocks} * cuda::kDirectThreads, 16 / copy.c.dst_unit, a.units);
  if (a.rank == 2) replay_direct<2>(copy, a);
  if (a.rank == 3) replay_direct<3>(copy, a);
  if (a.rank == 4) replay_direct<4>(copy, a);
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::BatchArgs& a) {
  const int unit = copy.c.dst_unit;
  for (const std::int64_t tile : some_of(a.tiles)) {
    const cuda::BatchPlace place = cuda::batch_place(a, static_cast<std::uint32_t>(tile));
    const auto low = static_cast<std::uint32_t>(place.at.src & 15);
    for (const std::int64_t n : some_of(place.matrices * a.matrix_bytes / unit)) {
      const cuda::BatchUnit at = cuda::batch_unit(a, static_cast<std::int32_t>(n));
      const std::int32_t from = cuda::batch_line(a, static_cast<std::uint32_t>(at.line), low) + at.at * a.unit_step;
      const std::int32_t piece = a.pieces == 1 ? 0 : from / a.piece_pitch;
      copy.expect_pair(place.at.dst + n * unit,
                       place.at.src + piece * a.src_pitch + from - cuda::batch_piece(a, piece, low));
    }
  }
}

void replay(const Copy& copy, const plan::Candidate&, const cuda::GatherArgs& a) {
  ASSERT_EQ(a.units, copy.c.units);
  for (const std::int64_t n : some_of(a.units)) {
    const cuda::Offsets at = a.index_bits == 64 ? cuda::gather_offsets<std::uint64_t>(a, static_cast<std::uint64_t>(n))
                                                : cuda::gather_offsets<std::uint32_t>(a, static_cast<std::uint32_t>(n));
    if (!copy.c.two_sided) copy.expect_pair(at.dst, at.src);
  }
}

void replay(const Copy&, const plan::Candidate&, std::monostate) { ADD_FAILURE() << "no arguments"; }

/// Every kernel's arguments, where it takes the copy when it is forced, replayed. Adds the families that did to `made`,
/// by the number of their arguments' type.
void replay_all(const layout::Canonical& c, std::vector<int>* made = nullptr) {
  const Copy copy(c);
  const bool beyond = cuda::plan_cuda(c, {}, "gather").others[0].reason == "steps or offsets beyond any memory";
  for (const cuda::Kernel& kernel : cuda::kernels()) {
    if (beyond && kernel.name.family != plan::Family::kGather) continue;
    const plan::Candidate k = cuda_test::bid_of(kernel.name.text, c);
    if (!k.applies) continue;
    SCOPED_TRACE(k.kernel.text);
    const cuda::CudaArgs args = cuda_test::prepared(c, k);
    std::visit([&](const auto& a) { replay(copy, k, a); }, args.args);
    if (made != nullptr) ++(*made)[args.args.index()];
  }
}

void replay_all(const std::string& dst, const std::string& src, std::vector<int>* made = nullptr) {
  SCOPED_TRACE(dst + " from " + src);
  replay_all(layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128), made);
}

std::string family_of(const std::string& dst, const std::string& src) {
  return std::string(name(
      cuda::plan_cuda(layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128), {}).chosen.kernel.family));
}

TEST(HugeArgs, CoverModesOfAnyExtent) {
  std::vector<int> made(std::variant_size_v<decltype(cuda::CudaArgs::args)>);
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  for (const std::int64_t n : {(std::int64_t{1} << 32) + 1000, (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32,
                               std::int64_t{1} << 31, std::int64_t{2400000000}, (std::int64_t{1} << 31) - 1,
                               (std::int64_t{1} << 30) + 64, std::int64_t{1} << 29, std::int64_t{1} << 28}) {
    const std::string long_rows = text(n);
    for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
      for (const char* few : {"2", "3", "5", "16", "64"}) {
        const std::string f = few, e = dtype;
        replay_all(e + " (" + long_rows + "," + f + ")", e + " (" + long_rows + "," + f + "):(1," + long_rows + ")",
                   &made);
        replay_all(e + " (" + f + "," + long_rows + ")", e + " (" + f + "," + long_rows + "):(1," + f + ")", &made);
      }
    replay_all("f16 (5," + long_rows + "):(1,5)", "u8 (5," + long_rows + ")", &made);
    replay_all("f32 (" + long_rows + ",3)", "u8 (" + long_rows + ",3):(1," + long_rows + ")", &made);
    replay_all("f32 (3," + long_rows + ")", "u8 (3," + long_rows + "):(1,3)", &made);
    replay_all("u16 (" + long_rows + ",5,3)", "u16 (" + long_rows + ",5,3):(15,1,5)", &made);
    replay_all("u8 (" + long_rows + ",10)", "u8 (" + long_rows + ",10):(12,1)", &made);
    replay_all("u8 (" + long_rows + ",10):(12,1)", "u8 (" + long_rows + ",10)", &made);
    replay_all("u8 (2," + long_rows + ",3)", "u8 (2," + long_rows + ",3):(3,6,1)", &made);
    replay_all("f16 (" + long_rows + ")", "f16 (" + long_rows + "):(-1)@" + text(2 * (n - 1)), &made);
    replay_all("f32 (" + long_rows + ")", "f32 (" + long_rows + "):(3)", &made);
    replay_all("f32 (" + long_rows + ",8,4)", "f32 (" + long_rows + ",8,4):(1," + long_rows + "," + text(8 * n) + ")",
               &made);
  }
  for (const char* n : {"67108864", "134217728"}) {  // rows of src of 2 GiB that overlap, for 16-byte units
    replay_all("c128 (" + std::string(n) + ",2)", "c128 (" + std::string(n) + ",2):(1,4)", &made);
    replay_all("f64 (" + std::string(n) + ",4,2)", "f64 (" + std::string(n) + ",4,2):(1," + n + ",4)", &made);
  }
  replay_all("u8 (5,200000000,3)", "u8 (5,200000000,3):(3,15,1)", &made);
  replay_all("f32 (536870912,64)", "f32 (536870912,64):(1,4)", &made);
  replay_all("f64 (16777216,3,5)", "f64 (16777216,3,5):(5,83886080,1)", &made);
  replay_all("f32 (25165824,5,7)", "f32 (25165824,5,7):(35,1,5)", &made);
  for (std::size_t i = 1; i < made.size(); ++i) EXPECT_GT(made[i], 0) << "no arguments of type " << i;
}

TEST(HugeArgs, CoverLayoutsUpToTheLargest) {
  test::HugeLayouts huge(5, 28, 44), larger(6);
  std::vector<int> made(std::variant_size_v<decltype(cuda::CudaArgs::args)>);
  for (int i = 0; i < 20000; ++i) {
    try {
      const auto [dst, src] = (i % 4 == 0 ? larger : huge).next();
      SCOPED_TRACE(to_string(dst) + " from " + to_string(src));
      replay_all(layout::canonicalize(dst, src, 128, 128), &made);
    } catch (const RangeError&) {    // too large to be written down
    } catch (const OverlapError&) {  // more than the search can settle
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  for (std::size_t i = 1; i < made.size(); ++i) EXPECT_GT(made[i], 0) << "no arguments of type " << i;
}

TEST(HugeArgs, OfModesPastThirtyOneBitsGoByPackedNotByGather) {
  EXPECT_EQ(family_of("u8 (4294968296,3)", "u8 (4294968296,3):(1,4294968296)"), "packed");
  EXPECT_EQ(family_of("u8 (2400000000,10)", "u8 (2400000000,10):(1,2400000000)"), "packed");
  EXPECT_EQ(family_of("u8 (32,2147483659)", "u8 (32,2147483659):(1,32)"), "packed");
  EXPECT_EQ(family_of("f32 (2147483659,4)", "f32 (2147483659,4):(1,2147483659)"), "packed");
}

TEST(HugeArgs, OfChainsReachSixtyFourGiBForwardsAndBackwards) {
  const auto applies = [](const char* dst, const char* src) {
    const layout::Canonical c = layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128);
    replay_all(c);
    return cuda_test::bid_of("tile/chains", c).applies;
  };
  EXPECT_TRUE(applies("f64 (268436480,6,4)", "f64 (268436480,6,4):(1,268436480,1610618880)"));  // 48 GiB
  EXPECT_TRUE(applies("f64 (268436480,6,4)", "f64 (268436480,6,4):(1,-268436480,1610618880)@10737459200"));
  EXPECT_TRUE(applies("f64 (268436480,6,4)", "f64 (268436480,6,4):(1,-268436480,-1610618880)@49392312320"));
  EXPECT_FALSE(applies("f64 (357913952,6,4)", "f64 (357913952,6,4):(1,357913952,2147483712)"));
}

TEST(HugeArgs, OfMoreTilesOrBlocksThanGridsHaveAreRefused) {
  const auto reason = [](const char* kernel, const char* dst, const char* src) {
    return cuda_test::bid_of(kernel, layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128)).reason;
  };
  EXPECT_EQ(reason("run/words", "u8 (1152921504606846976)", "u8 (1152921504606846976)"), "too many blocks");
  EXPECT_EQ(reason("rows/words", "u8 (1073741824,4112)", "u8 (1073741824,4112):(12352,3)"), "too many blocks");
  EXPECT_EQ(reason("packed/staged", "u8 (3,288230376151711744)", "u8 (3,288230376151711744):(1,3)"), "too many tiles");
}

TEST(HugeArgs, StepsNearTwoToThe60AreLeftToGather) {
  const std::string far = std::to_string((std::int64_t{1} << 60) - (1 << 24));
  const auto expect_gather = [](const std::string& dst, const std::string& src) {
    replay_all(dst, src);
    const plan::Decision decision =
        cuda::plan_cuda(layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128), {});
    EXPECT_EQ(decision.chosen.kernel.family, plan::Family::kGather) << src;
    for (const plan::Candidate& k : decision.others) {
      const bool gather = k.kernel.family == plan::Family::kGather;
      EXPECT_EQ(k.reason, gather ? "nothing is converted" : "steps or offsets beyond any memory") << src;
    }
  };
  expect_gather("u8 (2)", "u8 (2):(" + far + ")b");
  expect_gather("u8 (2,64,2)", "u8 (2,64,2):(1,2," + far + ")b");
  expect_gather("f64 (2,64,2)", "f64 (2,64,2):(" + far + ",16,8)b");
  expect_gather("f64 (2,64,2)", "f64 (2,64,2):(-" + far + ",16,8)b@" + far);
  expect_gather("u8 (8388608,2):(16,1)", "u8 (8388608,2):(1," + far + ")b");   // groups of 16 rows, as by bulk copies
  expect_gather("u8 (2,2048):(-" + far + ",1)b@" + far, "u8 (2,2048):(1,9)");  // planes beside seven others
}

}  // namespace
}  // namespace restride
