// Replays src/cuda/rows/pixels_map.h for every block, thread and step.
#include "src/cuda/rows/pixels_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

void replay(const std::string& dst, const std::string& src, bool window, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("rows/pixels", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto a = cuda_test::args_of<cuda::PixelsArgs>(copy.c, bid);
  EXPECT_EQ(a.window, window);
  const int unit = copy.c.dst_unit, units = unit < 4 ? 4 / unit : 1;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.blocks; ++block) {
    const cuda::PixelChunk chunk = cuda::pixel_chunk(a, block);
    const cuda::Offsets at = cuda::row_offsets(a.rows, chunk.row);
    const std::int64_t row = a.dst_offset + at.dst, from = a.src_offset + at.src + chunk.pixel * a.pixel_step;
    const auto skew = static_cast<std::int32_t>(row & (units * unit - 1)) / unit;
    for (std::int32_t thread = 0; thread < a.threads; ++thread) {
      const cuda::PixelPlace place = cuda::pixel_place(a, thread, units, skew);
      const std::int64_t pixel = from + place.pixel * a.pixel_step;
      for (int step = 0; step < a.steps; ++step) {
        const std::int64_t first =
            chunk.pixel * a.pixel.divisor - skew + (std::int64_t{step} * a.threads + thread) * units;
        const std::int64_t here = pixel + std::int64_t{step} * a.step_pixels * a.pixel_step;
        for (int j = 0; j < units; ++j) {
          const std::int64_t offset = a.offset[place.phase][j];
          if (first + j < 0 || first + j >= a.row_units) continue;
          written.unit(row + (first + j) * unit, here + offset, unit);
          if (testing::Test::HasFatalFailure()) return;
          if (!window) continue;
          const std::int64_t low = here + a.low[place.phase], word = low & ~std::int64_t{3};
          ASSERT_EQ(offset, a.low[place.phase] + (a.select[place.phase] >> (4 * j * unit) & 7)) << "the selector";
          ASSERT_EQ((low & 3), ((pixel + a.low[place.phase]) & 3)) << "all steps shift alike";
          ASSERT_GE(word, from + a.reach_first) << "aligned words that hold the 8 bytes";
          ASSERT_LE(word + 12, from + a.reach_last);
        }
      }
    }
  }
  written.expect_complete();
}

constexpr bool kWindow = true, kCollect = false;

TEST(PixelsMap, MovesColoursInAnyOrderOnce) {
  replay("u8 (5,700,3)", "u8 (5,700,3):(2100,3,-1)@2", kWindow);
  replay("u8 (5,700,4)", "u8 (5,700,4):(2800,4,-1)@3", kWindow, 1);
  replay("u8 (5,700,3)", "u8 (5,700,3):(2800,4,1)", kWindow);
  replay("f16 (5,700,3)", "f16 (5,700,3):(2100,3,-1)@2", kCollect, 2);
  replay("f32 (5,700,3)", "f32 (5,700,3):(2100,3,-1)@2", kCollect);
}

TEST(PixelsMap, MovesMirroredAndThinnedOutRowsOnce) {
  replay("u8 (5,1501,3)", "u8 (5,1501,3):(4503,-3,1)@4500", kWindow, 1);
  replay("u8 (50,70,3)", "u8 (50,70,3):(-210,-3,1)@10497", kWindow);
  replay("u8 (7,301,3)", "u8 (7,301,3):(1809,6,1)", kWindow, 1);
  replay("u8 (7,1301)", "u8 (7,1301):(2603,2)", kWindow, 1);
  replay("u8 (7,1301)", "u8 (7,1301):(5207,4)@3", kCollect, 1);
  replay("u8 (3,700,5)", "u8 (3,700,5):(700,1,2100)", kCollect);
  replay("f64 (3,90,7)", "f64 (3,90,7):(630,-7,1)@623", kCollect);
}

TEST(PixelsMap, LeavesRowsThatOtherKernelsMove) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("rows/pixels", Copy(dst, src).c).reason;
  };
  EXPECT_EQ(reason("u8 (7,50)", "u8 (7,50):(60,1)"), "rows' other kernels move such rows");
  EXPECT_EQ(reason("f32 (7,50)", "f32 (7,50):(150,3)"), "rows' other kernels move such rows");
  EXPECT_EQ(reason("u8 (7,30):(60,2)", "u8 (7,30)"), "dst has no dense mode");
}

}  // namespace
}  // namespace restride
