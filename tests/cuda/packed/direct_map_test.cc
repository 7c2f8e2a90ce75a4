// Replays src/cuda/packed/direct_map.h for every block and thread.
#include "src/cuda/packed/direct_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;
using cuda_test::Copy;
using cuda_test::Written;

/// `off`: bytes by which dst's pointer lies off a word.
template <int kRank>
void replay_rank(const Copy& copy, const cuda::DirectArgs& a, int off) {
  const int unit = copy.c.dst_unit, units = 16 / unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.blocks; ++block)
    for (std::uint32_t thread = 0; thread < cuda::kDirectThreads; ++thread) {
      const std::int32_t first = static_cast<std::int32_t>(block * cuda::kDirectThreads + thread) * units - off / unit;
      if (first >= a.units) continue;
      cuda::DirectUnit<kRank> at = cuda::direct_unit<kRank>(a, static_cast<std::uint32_t>(std::max(first, 0)));
      for (int j = std::max(-first, 0); j < std::min(units, a.units - first); ++j, cuda::direct_next<kRank>(a, at))
        written.unit(a.dst_offset + std::int64_t{first + j} * unit, a.src_offset + at.src, unit);
      if (testing::Test::HasFatalFailure()) return;
    }
  written.expect_complete();
}

void replay(const std::string& dst, const std::string& src) {
  SCOPED_TRACE(dst + " from " + src);
  for (const std::int64_t align : {128, 8}) {
    const Copy copy(dst, src, align);
    const plan::Candidate bid = cuda_test::bid_of("packed/direct", copy.c);
    ASSERT_TRUE(bid.applies) << bid.reason;
    const auto a = cuda_test::args_of<cuda::DirectArgs>(copy.c, bid);
    for (int off = 0; off < 16; off += align == 128 ? 16 : 8)
      a.rank == 2   ? replay_rank<2>(copy, a, off)
      : a.rank == 3 ? replay_rank<3>(copy, a, off)
                    : replay_rank<4>(copy, a, off);
  }
}

TEST(DirectMap, MovesSmallMatricesOnce) {
  replay("f32 (501,2,2)", "f32 (501,2,2):(4,1,2)");
  replay("f32 (97,7,5)", "f32 (97,7,5):(35,1,7)");
  replay("f64 (33,16,16)", "f64 (33,16,16):(256,1,16)");
  replay("f32 (61,7,5,3)", "f32 (61,7,5,3):(105,1,7,35)");
}

TEST(DirectMap, MovesPlanesIntoRecordsOnce) {
  replay("f32 (1001,3)", "f32 (1001,3):(1,1001)");
  replay("f64 (777,5)", "f64 (777,5):(1,777)");
  replay("f32 (1001,3)", "f32 (1001,3):(-1,1001)@1000");
}

TEST(DirectMap, IsOfferedWhereNeighboursLieNear) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("packed/direct", canonical(dst, src)).reason;
  };
  EXPECT_EQ(reason("f32 (99000,16,16)", "f32 (99000,16,16):(256,1,16)"), "");
  EXPECT_EQ(reason("f32 (99000,9)", "f32 (99000,9):(1,99000)"), "neighbours in dst lie too far apart in src");
  EXPECT_EQ(reason("f32 (9000,32,32)", "f32 (9000,32,32):(1024,1,32)"), "neighbours in dst lie too far apart in src");
  EXPECT_EQ(reason("f32 (9000,31)", "f32 (9000,31):(100,3)"), "neighbours in dst lie too far apart in src");
  EXPECT_EQ(reason("f32 (9000,3):(4,1)", "f32 (9000,3):(1,9000)"), "dst is not one dense run");
  EXPECT_EQ(reason("f16 (9000,3)", "f16 (9000,3):(1,9000)"), "no units of 4 or 8 bytes that are moved");
}

}  // namespace
}  // namespace restride
