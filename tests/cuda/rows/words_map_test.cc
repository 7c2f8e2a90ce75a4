// Replays src/cuda/rows/words_map.h and src/cuda/gather/map.h, and the fast divisions that they walk by.
#include "src/cuda/rows/words_map.h"

#include "src/base/fast_div.h"
#include "src/cuda/gather/map.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

void replay_rows(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate rows = cuda::bid_rows(copy.c, {});
  ASSERT_TRUE(rows.applies) << rows.reason;
  const cuda::RowsArgs a = cuda::rows_args(copy.c, rows);
  const cuda::RowsKind kind = cuda::rows_kind(copy.c, rows.get(plan::ParamId::kVectorBytes));
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
  const plan::Candidate rows = cuda::bid_rows(c, {});
  ASSERT_TRUE(rows.applies) << rows.reason;
  const cuda::RowsKind kind = cuda::rows_kind(c, rows.get(plan::ParamId::kVectorBytes));
  EXPECT_EQ(kind, expected);
  const cuda::RowsArgs a = cuda::rows_args(c, rows);
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

TEST(GatherMap, MovesAnyLayoutOnce) {
  const Copy copy("f32 (3,4,5,6):(-120,5,1,20)@240", "f32 (3,4,5,6):(2,-30,6,120)@90");
  const cuda::GatherArgs a = cuda::gather_args(copy.c, cuda::bid_gather(copy.c, {}));
  Written narrow(copy), wide(copy);
  for (std::int64_t unit = 0; unit < a.units; ++unit) {
    const cuda::Offsets at = cuda::gather_offsets<std::uint32_t>(a, static_cast<std::uint32_t>(unit));
    narrow.unit(at.dst, at.src, copy.c.dst_unit);
    const cuda::Offsets at64 = cuda::gather_offsets<std::uint64_t>(a, static_cast<std::uint64_t>(unit));
    wide.unit(at64.dst, at64.src, copy.c.dst_unit);
  }
  narrow.expect_complete();
  wide.expect_complete();
}

TEST(FastDiv, AgreesWithDivision) {
  for (const std::int64_t d : {1ll, 2ll, 3ll, 5ll, 7ll, 641ll, 65535ll, 65536ll, 65537ll, 0x40000001ll, 0x7fffffffll})
    for (const std::uint32_t n :
         {0u, 1u, 2u, 640u, 65535u, 65536u, 0x3fffffffu, 0x40000000u, 0x7ffffffeu, 0x7fffffffu}) {
      EXPECT_EQ(base::FastDiv(d).quotient(n), n / static_cast<std::uint32_t>(d)) << n << " / " << d;
      EXPECT_EQ(base::FastDiv64(d).quotient(n), n / static_cast<std::uint64_t>(d));
    }
  for (const std::int64_t d : {1ll, 3ll, 0x100000001ll, 0x7fffffffffffffffll})
    for (const std::uint64_t n : {0ull, 0x7fffffffffffffffull, 0x123456789abcdefull, 0x7ffffffffffffffeull})
      EXPECT_EQ(base::FastDiv64(d).quotient(n), n / static_cast<std::uint64_t>(d)) << n << " / " << d;
}

}  // namespace
}  // namespace restride
