// Replays src/cuda/packed/batches_map.h for every tile.
#include "src/cuda/packed/batches_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;
using cuda_test::Copy;
using cuda_test::Written;

/// What bulk copies and lanes move of a part: each byte of the tile at most once, all of them where `whole`.
void expect_cover(const cuda::BatchPart& part, std::uint32_t data, int unit) {
  const auto address = static_cast<std::int64_t>(data) + part.start;
  if (part.last > part.first) {
    EXPECT_EQ((address + part.first) % 16, 0);
    EXPECT_EQ((part.last - part.first) % 16, 0);
  }
  EXPECT_LT(part.nibble + part.bytes + 15, cuda::batch_room(1));
  std::vector<int> count(static_cast<std::size_t>(part.bytes));
  for (std::int32_t b = std::max(part.first, 0); b < std::min(part.last, part.bytes); ++b)
    ++count[static_cast<std::size_t>(b)];
  ASSERT_EQ(part.ends() % unit, 0);
  EXPECT_LE(part.ends() / unit, 32);  // one unit a lane
  for (std::int32_t n = 0; n < part.ends(); ++n) ++count.at(static_cast<std::size_t>(part.end(n)));
  for (const int moved : count) ASSERT_EQ(moved, 1);
}

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("packed/batches", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto a = cuda_test::args_of<cuda::BatchArgs>(copy.c, bid);
  ASSERT_LE(a.tile_bytes + cuda::kBatchEnds, cuda::batch_room(a.stages));
  const int unit = copy.c.dst_unit;
  Written written(copy);
  for (std::uint32_t data = 0; data < 16; data += static_cast<std::uint32_t>(std::min<std::int64_t>(align, 16)))
    for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
      const cuda::BatchPart in = cuda::batch_read(a, tile, data), out = cuda::batch_written(a, tile, data);
      expect_cover(in, data, unit);
      expect_cover(out, data, unit);
      ASSERT_EQ(in.bytes, out.bytes);
      ASSERT_GE(in.start + in.first, 0);
      ASSERT_LE(in.start + in.last, a.bytes);
      ASSERT_GE(out.first, 0);
      ASSERT_LE(out.last, out.bytes);
      if (data != 0) continue;
      for (std::int32_t n = 0; n * unit < out.bytes; ++n) {
        const std::int32_t from = cuda::batch_source(a, static_cast<std::uint32_t>(n));
        ASSERT_LT(from, in.bytes);
        written.unit(a.dst_offset + out.start + std::int64_t{n} * unit, a.src_offset + in.start + from, unit);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  written.expect_complete();
}

TEST(BatchesMap, MovesWholeMatricesOnce) {
  for (const std::int64_t align : {128, 4}) {
    replay("u16 (803,35,67)", "u16 (803,35,67):(2345,1,35)", align);
    replay("u16 (1001,13,15)", "u16 (1001,13,15):(195,1,13)", align);
    replay("u16 (977,7,9,11)", "u16 (977,7,9,11):(693,1,7,63)", align);
    replay("u16 (333,3,5,7,9)", "u16 (333,3,5,7,9):(945,1,3,15,105)", align);
  }
  replay("u16 (60,87,63)", "u16 (60,87,63):(5481,1,87)");
  replay("u16 (3,5,7)", "u16 (3,5,7):(35,1,5)");
}

TEST(BatchesMap, IsOfferedWhereMatricesAreDense) {
  const auto reason = [](const char* dst, const char* src, std::int64_t align = 256) {
    const auto c = layout::canonicalize(parse_layout(dst), parse_layout(src), align, align);
    return cuda_test::bid_of("packed/batches", c).reason;
  };
  constexpr const char* kNotDense = "no batch of matrices that are dense on both sides";
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2345,1,35)"), "");
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2345,1,35)", 2), "a side starts off words of 4 bytes");
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2400,1,35)"), kNotDense);
  EXPECT_EQ(reason("u16 (67,35,9000)", "u16 (67,35,9000):(1,67,2345)"), kNotDense);
  EXPECT_EQ(reason("u16 (900,201,101)", "u16 (900,201,101):(20301,1,201)"), "a matrix does not fit shared memory");
  EXPECT_EQ(reason("f32 (900,7,7)", "f32 (900,7,7):(49,1,7)"), "no units of 2 bytes that are moved");
  cuda::CudaMachine old;
  old.bulk_copies = false;
  EXPECT_EQ(
      cuda_test::bid_of("packed/batches", canonical("u16 (9000,35,67)", "u16 (9000,35,67):(2345,1,35)"), old).reason,
      "this GPU, or the code for it, has no bulk copies");
}

}  // namespace
}  // namespace restride
