// Replays src/cuda/tile/pixels_map.h for every block, thread and step.
#include "src/cuda/tile/pixels_map.h"

#include <map>

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

/// Byte of shared memory -> source byte.
using Shared = std::map<std::int64_t, std::int64_t>;

/// The tile's rows of src, as the kernel's threads bring them in.
Shared stage(const cuda::TileArgs& a, std::int64_t from, const cuda::TilePlace& place, int pixel) {
  Shared shared;
  const int patch = cuda::pixel_patch(pixel).d, row_bytes = std::min(a.tile_s, a.s_extent - place.s) * pixel;
  for (int step = 0; step * 32 < a.halo + a.tile_d; ++step)
    for (int thread = 0; thread < cuda::kTileThreads; ++thread) {
      const cuda::TileLoad at = cuda::pixel_load(step, thread);
      const int d = place.d - a.halo + at.row;
      if (at.row >= a.halo + a.tile_d || d < 0 || d >= a.d_extent) continue;
      const std::int64_t row = from + at.row * a.src_pitch;
      const std::int64_t off = at.word * 16 - (row & 15);
      if (off >= row_bytes) continue;
      const std::int64_t to = (from & 15) + cuda::tile_row_base(a, at.row, patch) + off;
      EXPECT_EQ(to % 16, 0) << "an aligned word must land on an aligned word";
      EXPECT_TRUE(to >= 0 && to + 16 <= cuda::pixel_shared_bytes(a, pixel));
      for (int b = 0; b < 16; ++b) shared[to + b] = row + off + b;
    }
  return shared;
}

/// The patches' way from rows of src to rows of dst.
Shared transpose(const cuda::TileArgs& a, const Shared& rows, std::int64_t from, int pixel, bool backwards) {
  Shared lines;
  const cuda::TileShape patch = cuda::pixel_patch(pixel);
  for (int group = 0; group < (a.halo + a.tile_d) / cuda::pixel_group(pixel); ++group)
    for (int lane = 0; lane < 32; ++lane) {
      const cuda::PixelPatch at = cuda::pixel_place(group, lane, pixel);
      for (int j = 0; j < patch.d; ++j)
        for (int i = 0; i < patch.s; ++i)
          for (int b = 0; b < pixel; ++b) {
            const int unit = pixel == 6 ? 2 : 1;
            const int wanted = backwards ? (2 - b / unit) * unit + b % unit : b;
            const auto found = rows.find((from & 15) + cuda::tile_row_base(a, at.d, patch.d) + j * a.row_pitch +
                                         (at.s + i) * pixel + wanted);
            const std::int64_t to = cuda::pixel_line(at.s + i, pixel) + (at.d + j) * pixel + b;
            EXPECT_LE(to, cuda::pixel_shared_bytes(a, pixel) - 1);
            EXPECT_EQ(lines.count(to), 0u) << "written twice";
            lines[to] = found == rows.end() ? -1 : found->second;
          }
    }
  return lines;
}

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("tile/pixels", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto args = cuda_test::args_of<cuda::PixelTileArgs>(copy.c, bid);
  const cuda::TileArgs& a = args.tile;
  const int unit = copy.c.dst_unit, pixel = args.pixel_bytes;
  const bool backwards = args.backwards;
  EXPECT_EQ(pixel, bid.get(plan::ParamId::kRowMode) == 1 ? 3 * unit : unit);
  EXPECT_EQ(backwards, pixel != unit && copy.c.modes[0].src_stride < 0);
  // Where the test puts the tensors: as far off whole words as was promised, and no better.
  const std::int64_t dst_base = 4096 + align % 128, src_base = 8192 + align % 128;
  Written written(copy);
  for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
    const cuda::TilePlace place = cuda::tile_place(a, tile);
    const cuda::Offsets batch = cuda::offsets(a.batch, place.batch);
    const std::int64_t from = src_base + a.src_offset + batch.src + (place.d - a.halo) * a.src_pitch + place.s * pixel;
    const Shared lines = transpose(a, stage(a, from, place, pixel), from, pixel, backwards);
    for (int s = 0; s < std::min(a.tile_s, a.s_extent - place.s); ++s) {
      const std::int64_t row = dst_base + a.dst_offset + batch.dst + (place.s + s) * a.dst_pitch;
      const std::int64_t row_bytes = std::int64_t{a.d_extent} * pixel, skew = row & a.skew_mask;
      const std::int64_t first = std::int64_t{place.d} * pixel - skew, last = first + a.tile_d * pixel;
      const cuda::PixelEnds ends = cuda::pixel_ends(row, row_bytes);
      const auto store = [&](std::int64_t byte) {
        const auto found = lines.find(cuda::pixel_line(s, pixel) + (a.halo - place.d) * pixel + byte);
        ASSERT_TRUE(found != lines.end() && found->second >= 0) << "reads shared memory that no load filled";
        written.unit(row - dst_base + byte, found->second - src_base, 1);
      };
      for (std::int64_t byte = first; byte < last; byte += 16)
        if (byte >= 0 && byte + 16 <= row_bytes) {
          ASSERT_EQ((row + byte) % 16, 0);
          for (int b = 0; b < 16; ++b) store(byte + b);
        }
      if (place.d == 0)
        for (std::int64_t byte = 0; byte < ends.head; ++byte) store(byte);
      if (ends.tail >= first && ends.tail < last)
        for (std::int64_t byte = ends.tail; byte < row_bytes; ++byte) store(byte);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  written.expect_complete();
}

TEST(TilePixelsMap, TransposesPixelsOnce) {
  replay("u8 (3,64,96,3)", "u8 (3,64,96,3):(18432,3,192,1)");
  replay("u8 (70,301,3)", "u8 (70,301,3):(3,210,1)");
  replay("f16 (70,301,3)", "f16 (70,301,3):(3,210,1)");
  replay("u8 (33,4,3)", "u8 (33,4,3):(3,99,1)");
}

TEST(TilePixelsMap, TurnsPixelsEitherWayWithTheirUnitsInEitherOrder) {
  replay("u8 (50,40,3)", "u8 (50,40,3):(-3,150,1)@147");
  replay("u8 (50,40,3)", "u8 (50,40,3):(3,-150,1)@5850");
  replay("u8 (2,50,240,3)", "u8 (2,50,240,3):(36000,-3,150,-1)@149");
  replay("f16 (2,50,130,3)", "f16 (2,50,130,3):(19500,3,-150,-1)@19352");
}

TEST(TilePixelsMap, FollowsPitchesAndPointersOffTheirWords) {
  for (const int align : {1, 2, 4, 8, 16, 32}) {
    replay("u8 (45,231,3):(701,3,1)", "u8 (45,231,3):(3,139,1)", align);
    replay("u8 (45,5,3)", "u8 (45,5,3):(3,135,-1)@2", align);
    if (align > 1) replay("f16 (20,131,3):(395,3,1)", "f16 (20,131,3):(3,61,1)", align);
  }
}

TEST(TilePixelsMap, TransposesBytesWhoseRowsStartAnywhere) {
  replay("u8 (301,517)", "u8 (301,517):(1,301)");
  replay("u8 (5,63,230)", "u8 (5,63,230):(63,-1,315)@62", 1);
  replay("u8 (99,4):(7,1)", "u8 (99,4):(1,133)", 4);
  replay("u8 (3,40,230)", "u8 (3,40,230):(-1,690,3)@2");
}

TEST(TilePixelsMap, LanesMeetInNoBankWhereRowsOfSrcLieOnWords) {
  for (const int pixel : {3, 6})
    for (const int width : {1920, 1080, 224}) {
      const std::string dtype = pixel == 3 ? "u8" : "f16", shape = " (" + std::to_string(width) + ",320,3)";
      const Copy copy(dtype + shape, dtype + shape + ":(3," + std::to_string(3 * width) + ",1)");
      const cuda::TileArgs a = cuda_test::args_of<cuda::PixelTileArgs>("tile/pixels", copy.c).tile;
      for (int word = 0; word < 3; ++word) {
        std::vector<std::uint32_t> reads, writes;
        for (int lane = 0; lane < 32; ++lane) {
          const cuda::PixelPatch at = cuda::pixel_place(0, lane, pixel);
          const int row = cuda::tile_row_base(a, at.d, cuda::pixel_patch(pixel).d);
          reads.push_back(static_cast<std::uint32_t>(row + at.s * pixel + word * 4));
          writes.push_back(static_cast<std::uint32_t>(cuda::pixel_line(at.s, pixel) + at.d * pixel + word * 4));
        }
        EXPECT_EQ(cuda_test::bank_cycles(reads), 1) << width;
        EXPECT_EQ(cuda_test::bank_cycles(writes), 1) << width;
      }
    }
}

TEST(TilePixelsMap, OtherRecordsAndPixelsInRowsAreLeftToOthers) {
  const auto applies = [](const std::string& dst, const std::string& src) {
    return cuda_test::bid_of("tile/pixels", cuda_test::canonical(dst, src)).applies;
  };
  EXPECT_FALSE(applies("u8 (50,40,5)", "u8 (50,40,5):(5,250,1)"));
  EXPECT_FALSE(applies("f32 (50,40,3)", "f32 (50,40,3):(3,150,1)"));
  EXPECT_FALSE(applies("u8 (50,40,3)", "u8 (50,40,3):(120,-3,1)@117"));
  EXPECT_FALSE(applies("u8 (50,40,3)", "u8 (50,40,3):(4,200,1)"));
}

}  // namespace
}  // namespace restride
