// Replays src/cuda/rows/short_map.h for every block, thread and step.
#include "src/cuda/rows/short_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

void replay(const std::string& dst, const std::string& src, bool fetch_sectors = true) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src);
  const plan::Candidate bid = cuda_test::bid_of("rows/short", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto a = cuda_test::args_of<cuda::ShortRowsArgs>(copy.c, bid);
  EXPECT_EQ(a.fetch_sectors, fetch_sectors);
  ASSERT_EQ(a.threads, a.step_rows * static_cast<std::int32_t>(a.lanes.divisor)) << "whole rows a step";
  ASSERT_LE(a.threads, cuda::kMostShortThreads) << "what the kernel is bounded to";
  const int unit = copy.c.dst_unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.blocks; ++block)
    for (std::int32_t thread = 0; thread < a.threads; ++thread) {
      const cuda::ShortRowsPlace place = cuda::short_rows_place(a, block, static_cast<std::uint32_t>(thread));
      const cuda::Offsets at = cuda::row_offsets(a.outer, place.item);
      for (int step = 0; step < a.steps; ++step) {
        const std::int64_t row = place.row + std::int64_t{step} * a.step_rows;
        if (row >= a.rows) continue;
        for (int j = place.unit; j < place.unit + a.lane_units; ++j)
          written.unit(a.dst_offset + at.dst + row * a.dst_step + j * unit,
                       a.src_offset + at.src + row * a.src_step + j * a.src_inside, unit);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  written.expect_complete();
}

TEST(ShortRowsMap, MovesColumnsOnce) {
  replay("u8 (50,71):(142,2)", "u8 (50,71)");
  replay("f16 (3001):(5)@2", "f16 (3001)");
  replay("f32 (50,71):(143,2)", "f32 (50,71):(1,50)");
  replay("f64 (1,4099):(1,3)", "f64 (1,4099):(1,-1)@4098");
}

TEST(ShortRowsMap, MovesPartsOfRecordsOnce) {
  replay("f32 (2050,3):(4,1)", "f32 (2050,3)");
  replay("u8 (2050,3):(4,1)@1", "u8 (2050,3):(1,2050)");
  replay("u8 (20,50,4):(350,7,1)", "u8 (20,50,4):(200,4,-1)@3");
  replay("u8 (2050,2):(3,1)", "u8 (2050,2)");
  replay("u8 (17,211,13):(5700,27,1)@14", "u8 (17,211,13)");
  replay("f16 (900,31):(63,1)", "f16 (900,31):(31,-1)@30");
  replay("f32 (300,127):(256,1)", "f32 (300,127)");
  replay("c128 (40,5):(9,1)", "c128 (40,5):(0,1)");
}

TEST(ShortRowsMap, AsksForNoSectorThatIsWrittenWhole) { replay("f32 (500,8):(32,1)", "f32 (500,8)", false); }

TEST(ShortRowsMap, IsChosenForShortRowsWithGapsOnly) {
  const auto kernel = [](const char* dst, const char* src) {
    const plan::Decision decision = cuda::plan_cuda(Copy(dst, src).c, {});
    return decision.chosen.kernel.text;
  };
  EXPECT_EQ(kernel("u8 (500000,3):(4,1)", "u8 (500000,3)"), "rows/short") << "RGB into RGBA";
  EXPECT_EQ(kernel("u8 (500000,3):(4,1)", "u8 (500000,3):(1,500000)"), "rows/short") << "planes into RGBA";
  EXPECT_EQ(kernel("f16 (1000,700):(1400,2)@1", "f16 (1000,700)"), "rows/short") << "every second column";
  EXPECT_EQ(kernel("f32 (500000,3):(4,1)", "f32 (500000,3)"), "rows/short") << "fields of records";
  EXPECT_EQ(kernel("u8 (5000,257):(515,1)@258", "u8 (5000,257)"), "rows/words") << "rows of many words";
  EXPECT_EQ(kernel("u8 (500000,3)", "u8 (500000,3):(4,1)"), "rows/pixels") << "gaps in src alone";
}

TEST(ShortRowsMap, LeavesRowsWithoutGapsAndLongOnes) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("rows/short", Copy(dst, src).c).reason;
  };
  EXPECT_EQ(reason("f32 (70,50)", "f32 (70,50):(1,70)"), "dst's rows have no gaps between them");
  EXPECT_EQ(reason("f32 (70,129):(200,1)", "f32 (70,129)"), "rows are not short");
}

}  // namespace
}  // namespace restride
