// Replays src/cuda/rows/words_map.h for every block and thread.
#include "src/cuda/rows/words_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::args_of;
using cuda_test::bid_of;
using cuda_test::Copy;
using cuda_test::Written;

void replay_rows(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate rows = bid_of("rows/words", copy.c);
  ASSERT_TRUE(rows.applies) << rows.reason;
  const auto a = args_of<cuda::RowsArgs>(copy.c, rows);
  const cuda::RowsKind kind = a.kind;
  // The forward kernel moves bytes; the others units.
  const int unit = kind == cuda::RowsKind::kForward ? 1 : copy.c.dst_unit;
  const int units = kind == cuda::RowsKind::kUnit ? 1 : 16 / unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.blocks; ++block)
    for (std::uint32_t index = 0; index < a.block_words; ++index) {
      const cuda::RowsItem item = cuda::rows_item(a, block, index);
      if (item.row >= a.row_count) continue;
      const cuda::Offsets at = cuda::row_offsets(a.rows, item.row);
      const std::int64_t row = a.dst_offset + at.dst;
      const int skew = kind == cuda::RowsKind::kUnit ? 0 : static_cast<int>(row & 15) / unit;
      const std::int64_t first = cuda::rows_first_unit(item.word, units, skew);
      for (std::int64_t u = std::max<std::int64_t>(first, 0); u < std::min(first + units, a.row_units); ++u)
        written.unit(row + u * unit, a.src_offset + at.src + u * a.src_step, unit);
      if (testing::Test::HasFatalFailure()) return;
    }
  written.expect_complete();
}

TEST(RowsMap, MovesLongAndShortRowsOnce) {
  replay_rows("f32 (5000)", "f32 (5000)");
  replay_rows("f32 (40,50):(64,1)", "f32 (40,50):(72,1)");
  replay_rows("f32 (300,3):(4,1)", "f32 (300,3):(5,1)");
  replay_rows("u8 (7,9,333):(9000,1000,1)@5", "u8 (7,9,333):(340,3000,1)@2", 1);
}

TEST(RowsMap, ShortRowsOfWholeWordsAreNotMovedByTheUnit) {
  const Copy copy("u8 (9,50,48)", "u8 (9,50,48):(2700,53,1)");
  EXPECT_EQ(args_of<cuda::RowsArgs>(copy.c, bid_of("rows/words", copy.c)).kind, cuda::RowsKind::kForward);
  replay_rows("u8 (9,50,48)", "u8 (9,50,48):(2700,53,1)");
  replay_rows("f16 (9,50,16):(1600,32,1)", "f16 (9,50,16):(900,18,1)");
}

TEST(RowsMap, RowsOfWholeWordsHaveWideBlocks) {
  const auto args = [](const std::string& dst, const std::string& src) {
    replay_rows(dst, src);
    const Copy copy(dst, src);
    return args_of<cuda::RowsArgs>(copy.c, bid_of("rows/words", copy.c));
  };
  const auto is = [&](int threads, bool whole, const std::string& dst, const std::string& src) {
    const cuda::RowsArgs a = args(dst, src);
    EXPECT_EQ(a.threads, threads);
    EXPECT_EQ(a.whole, whole);
  };
  is(cuda::kWideThreads, true, "c128 (20001,15)", "c128 (20001,15):(17,1)");
  is(cuda::kWideThreads, true, "c128 (20001,16):(20,1)", "c128 (20001,16)");
  is(cuda::kWideThreads, true, "c128 (40001,8)", "c128 (40001,8):(9,1)");
  is(cuda::kRowsThreads, true, "c128 (40001,7)", "c128 (40001,7):(9,1)");
  is(cuda::kWideThreads, true, "c128 (2001,255)", "c128 (2001,255):(257,1)");
  is(cuda::kRowsThreads, true, "c128 (2001,256)", "c128 (2001,256):(257,1)");
  is(cuda::kRowsThreads, true, "c128 (1001,300)", "c128 (1001,300):(301,1)");
  is(cuda::kRowsThreads, true, "c128 (201,15)", "c128 (201,15):(17,1)");
  is(cuda::kRowsThreads, false, "c128 (20001,15):(19,1)@1", "c128 (20001,15)");  // sectors are shared with gaps
}

TEST(RowsMap, FollowsFlipsStepsAndBroadcasts) {
  replay_rows("f16 (30,100)", "f16 (30,100):(100,-1)@99");
  replay_rows("f32 (30,100)", "f32 (30,100):(600,3)");
  replay_rows("u8 (30,100)", "u8 (30,100):(1,0)");
  replay_rows("f32 (30,100)", "f32 (30,100):(0,1)");
}

/// Casts have units of two sizes, so units are counted, not bytes.
void replay_cast(const std::string& dst, const std::string& src, cuda::RowsKind expected) {
  SCOPED_TRACE(dst + " from " + src);
  const layout::Canonical c = cuda_test::canonical(dst, src);
  const plan::Candidate rows = bid_of("rows/cast", c);
  ASSERT_TRUE(rows.applies) << rows.reason;
  const auto a = args_of<cuda::RowsArgs>(c, rows);
  const cuda::RowsKind kind = a.kind;
  EXPECT_EQ(kind, expected);
  const int units = 16 / std::max(c.dst_unit, c.src_unit);
  std::vector<int> times(static_cast<std::size_t>(a.row_count * a.row_units), 0);
  for (std::uint32_t block = 0; block < a.blocks; ++block)
    for (std::uint32_t index = 0; index < a.block_words; ++index) {
      const cuda::RowsItem item = cuda::rows_item(a, block, index);
      if (item.row >= a.row_count) continue;
      const cuda::Offsets at = cuda::row_offsets(a.rows, item.row);
      const std::int64_t row = a.dst_offset + at.dst;
      const int skew = static_cast<int>(row & (units * c.dst_unit - 1)) / c.dst_unit;
      if (kind == cuda::RowsKind::kDense) {
        ASSERT_EQ(skew, 0) << "a row of dst off its vectors";
        ASSERT_EQ((a.src_offset + at.src) % (units * c.src_unit), 0) << "a row of src off its vectors";
      }
      const std::int64_t first = cuda::rows_first_unit(item.word, units, skew);
      for (std::int64_t u = std::max<std::int64_t>(first, 0); u < std::min(first + units, a.row_units); ++u)
        ++times[static_cast<std::size_t>(item.row * a.row_units + u)];
    }
  for (const int n : times) ASSERT_EQ(n, 1);
}

TEST(RowsMap, CollectsSmallMatricesWhoseRowsAreWords) {
  replay_rows("f32 (50,12,8)", "f32 (50,12,8):(96,1,12)");
  replay_rows("f16 (9,8,16)", "f16 (9,8,16):(128,1,8)");
}

TEST(RowsMap, CastsTakeEveryUnitOnce) {
  replay_cast("f32 (5003)", "f16 (5003)", cuda::RowsKind::kDense);
  replay_cast("u8 (30,100):(112,1)", "f32 (30,100):(104,1)", cuda::RowsKind::kDense);
  replay_cast("f32 (30,100):(100,1)", "u8 (30,100):(104,1)@4", cuda::RowsKind::kDense);
  replay_cast("f32 (30,99):(101,1)", "u8 (30,99):(103,1)", cuda::RowsKind::kCollect);
  replay_cast("f16 (7,9,33):(297,33,1)@3", "f64 (7,9,33):(1,-231,7)@2100", cuda::RowsKind::kCollect);
}

}  // namespace
}  // namespace restride
