#include "src/cpu/bid.h"

#include <gtest/gtest.h>

#include "tests/property/random_layout.h"

namespace restride::cpu {
namespace {

TEST(LinesForRuns, HoldTheBytesWhateverTheRuns) {
  for (std::int64_t run : {1, 2, 31, 63, 64, 65, 100, 129, 4096, 14999, 15000, 15001}) {
    EXPECT_GE(lines_for_runs(15000, run, 64) * 64, 15000) << run;
    EXPECT_GT(lines_for_runs(INT64_MAX, run, 64), INT64_MAX / 65) << run;
  }
  EXPECT_EQ(lines_for_runs(6400, 64, 64), 100) << "runs of a line each";
  EXPECT_EQ(lines_for_runs(230, 100, 64), 8) << "two runs and what is left of a third";
}

TEST(Streams, FromAShareOfTheCacheOnWhereRunsAreWritten) {
  CpuMachine machine;
  machine.columns_stay = false;
  const auto streamed = [&](std::int64_t bytes, Writes writes) {
    const Layout l = contiguous(DType::kU8, {bytes});
    return streams(layout::canonicalize(l, l, 1, 1, layout::UnitRule::kAnywhere), machine, writes);
  };
  machine.thread_cache_bytes = 16 << 20;
  EXPECT_FALSE(streamed((4 << 20) - 1, Writes::kRuns));
  EXPECT_TRUE(streamed(4 << 20, Writes::kRuns));
  EXPECT_TRUE(streamed(machine.stream_from_bytes, Writes::kColumns));
  EXPECT_FALSE(streamed(machine.stream_from_bytes - 1, Writes::kColumns));
  EXPECT_TRUE(streamed(machine.stream_from_bytes, Writes::kMatrices));
  machine.columns_stay = true;
  EXPECT_FALSE(streamed((4 << 20) - 1, Writes::kMatrices));
  EXPECT_TRUE(streamed(4 << 20, Writes::kMatrices));
  EXPECT_TRUE(streamed(machine.stream_from_bytes, Writes::kColumns)) << "lines of tiles leave as before";
  machine.columns_stay = false;
  machine.least_shuffled_unit = 32;
  EXPECT_FALSE(streamed(4 << 20, Writes::kColumns)) << "nothing joins columns in registers";
  EXPECT_TRUE(streamed((4 << 20) + 1, Writes::kColumns));
  machine.stream_share = 0;
  EXPECT_TRUE(streamed(machine.stream_from_bytes, Writes::kRuns));
  EXPECT_FALSE(streamed(machine.stream_from_bytes - 1, Writes::kRuns));
}

TEST(RowNs, TakesLongerPastTheCaches) {
  CpuMachine machine;
  machine.row_ns = 6;
  machine.streamed_rows = 2.5;
  const auto row_of = [&](std::int64_t bytes) {
    const Layout l = contiguous(DType::kU8, {bytes});
    return row_ns(layout::canonicalize(l, l, 1, 1, layout::UnitRule::kAnywhere), machine);
  };
  for (const std::int64_t least_unit : {1, 32}) {  // with and without permutes
    machine.least_shuffled_unit = least_unit;
    EXPECT_EQ(row_of(4 << 10), 6);
    EXPECT_EQ(row_of(64 << 20), 15);
  }
}

TEST(PlanCpu, EveryBidCountsLinesThatHoldItsBytes) {
  test::Rng rng(7);
  const CpuMachine machine;
  for (int i = 0; i < 600; ++i) {
    const test::Case copy = test::random_case(rng, {.elements = 40000});
    const Decision d =
        plan_cpu(layout::canonicalize(copy.dst, copy.src, 1, 1, layout::UnitRule::kAnywhere), machine, {});
    std::vector<Candidate> bids{d.chosen};
    bids.insert(bids.end(), d.others.begin(), d.others.end());
    for (const Candidate& k : bids) {
      if (!k.applies) continue;
      const std::string what =
          to_string(copy.src) + " -> " + to_string(copy.dst) + " by " + std::string(name(k.kernel.family));
      EXPECT_GE(k.predicted.read_sectors * machine.line_bytes, k.predicted.read_bytes) << what;
      EXPECT_GE(k.predicted.written_sectors * machine.line_bytes, k.predicted.written_bytes) << what;
    }
  }
}

}  // namespace
}  // namespace restride::cpu
