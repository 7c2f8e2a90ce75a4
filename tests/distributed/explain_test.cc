#include <gtest/gtest.h>

#include <restride/distributed.hpp>

namespace restride::distributed {
namespace {

TEST(ExchangeExplain, SaysWhatMovesAndWhoSendsIt) {
  const Exchange x(parse_distribution("(8192,512) as (block[0],*) over (4)"), DType::kF32,
                   parse_distribution("(8192,512) as (*,block[0]) over (4)"), DType::kF32);
  EXPECT_EQ(x.explain(1, 2),
            "src        f32 (8192,512) as (block[0],*) over (4)\n"
            "dst        f32 (8192,512) as (*,block[0]) over (4)\n"
            "ranks      4: 4 send, 4 receive\n"
            "moves      12582912 bytes between ranks, the minimum; 4194304 bytes stay on theirs\n"
            "messages   12 of 1048576 bytes, at most 3 of a rank\n"
            "runs       read 512 bytes, written 1048576 bytes, in dense local memory\n"
            "workspace  at most 6291456 bytes of a rank when messages are packed, none where memory is shared\n"
            "balance    the busiest sender has 1.00 of the senders' mean, the busiest receiver 1.00\n"
            "time       predicted 1451 us of the slowest rank: 3 us a message, 6 GB/s between ranks, 8 GB/s packing\n"
            "sends to        0         1048576 bytes     1 pieces  runs of 512 read, 1048576 written\n"
            "                1         1048576 bytes     1 pieces  runs of 512 read, 1048576 written  (itself)\n"
            "           ... and 2 more\n"
            "gets from       0         1048576 bytes     1 pieces  runs of 512 read, 1048576 written\n"
            "                1         1048576 bytes     1 pieces  runs of 512 read, 1048576 written  (itself)\n"
            "           ... and 2 more\n");
}

TEST(ExchangeExplain, RunsFollowTheMemoryOrderAndTheElements) {
  const Exchange x(parse_distribution("(64,30) as (block[0],*) over (2) order (1,0)"), DType::kF32,
                   parse_distribution("(64,30) as (cyclic:4[0],*) over (2)"), DType::kF64);
  const Summary s = x.summary();
  EXPECT_EQ(s.shortest_read_run, 4 * 4);        // blocks of 4 down a column
  EXPECT_EQ(s.longest_write_run, 16 * 30 * 8);  // whole rows, next to each other on the receiver
}

TEST(ExchangeExplain, PredictsTheSlowestRanksTimeByTheLinksFigures) {
  // Rank 0 sends 4 MB to rank 1, which has nothing to send and keeps nothing.
  const Exchange x(parse_distribution("(4000000) boxes 0[0:4000000]"), DType::kU8,
                   parse_distribution("(4000000) boxes 1[0:4000000]"), DType::kU8);
  EXPECT_DOUBLE_EQ(x.summary({10, 4, 2}).predicted_us, 10 + 1000 + 2000);
  EXPECT_DOUBLE_EQ(x.summary({10, 1, 2}).predicted_us, 10 + 4000 + 2000);
  EXPECT_NE(x.explain(-1, 16, {10, 4, 2}).find("predicted 3010 us"), std::string::npos);
}

TEST(ExchangeExplain, NothingToMoveIsSaid) {
  const Exchange x(parse_distribution("(0,4) as (*,*) over (2)"), DType::kF32,
                   parse_distribution("(0,4) as (*,*) over (2)"), DType::kF32);
  EXPECT_NE(x.explain(0).find("messages   none"), std::string::npos);
  EXPECT_NE(x.explain(0).find("sends to   nothing"), std::string::npos);
}

}  // namespace
}  // namespace restride::distributed
