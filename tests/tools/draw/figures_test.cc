#include "tools/draw/figures.h"

#include <gtest/gtest.h>

namespace restride::draw {
namespace {

/// A warp whose lane `i` accesses `bytes` at `step` * i.
Instruction warp(std::int64_t step, std::int32_t bytes) {
  Instruction out;
  for (std::int32_t lane = 0; lane < 32; ++lane)
    out.lanes.push_back({plan::Space::kStage, false, 0, lane, lane * step, bytes});
  return out;
}

TEST(Banks, ServeAWarpOnceWhereItsWordsLieInDifferentOnes) {
  EXPECT_EQ(banks_of(warp(4, 4)).cycles, 1);
  EXPECT_EQ(banks_of(warp(132, 4)).cycles, 1);
  EXPECT_TRUE(clashing(warp(4, 4)).empty());
}

TEST(Banks, ServeLanesOfOneBankInTurn) {
  EXPECT_EQ(banks_of(warp(128, 4)).cycles, 32);
  EXPECT_EQ(banks_of(warp(8, 4)).cycles, 2);
  EXPECT_EQ(clashing(warp(8, 4)).size(), 32u);
}

TEST(Banks, ServeLanesOfOneWordTogether) {
  EXPECT_EQ(banks_of(warp(0, 4)).cycles, 1);
  EXPECT_EQ(banks_of(warp(1, 1)).cycles, 1);
}

TEST(Banks, TakeTwoAndFourTurnsForWiderLanes) {
  EXPECT_EQ(banks_of(warp(8, 8)).cycles, 2);
  EXPECT_EQ(banks_of(warp(8, 8)).least, 2);
  EXPECT_EQ(banks_of(warp(16, 16)).cycles, 4);
  EXPECT_EQ(banks_of(warp(16, 16)).least, 4);
  EXPECT_EQ(banks_of(warp(128, 16)).cycles, 32);
}

TEST(Figures, CountSectorsLinesAndWhatOfThemIsUsed) {
  plan::Trace t;
  t.src_unit = t.dst_unit = 4;
  t.pieces = 1;
  t.threads = 32;
  for (std::int32_t lane = 0; lane < 32; ++lane) {  // every other float of 256 bytes, into 128
    t.load(0, lane, lane * 8, 4);
    t.store(0, lane, lane * 4, 4);
    t.unit(lane, lane * 4, lane * 8);
  }
  const Figures f = figures_of(t, kGpuGrain);
  EXPECT_EQ(f.src.bytes, 128);
  EXPECT_EQ(f.src.used, 128);
  EXPECT_EQ(f.src.sectors, 8);
  EXPECT_EQ(f.src.lines, 2);
  EXPECT_EQ(f.src.accesses, 1);
  EXPECT_EQ(f.dst.sectors, 4);
  EXPECT_EQ(f.dst.lines, 1);
  EXPECT_EQ(f.stage_bytes, 0);
  EXPECT_EQ(f.first_load_is.sectors, 8);
  EXPECT_EQ(figures_of(t, kCpuGrain).src.sectors, 4);
}

TEST(Figures, ShowTheInstructionWithTheMostLanesAndCountReadsThatNothingKeepsApart) {
  plan::Trace t;
  t.pieces = 1;
  t.threads = 32;
  t.put(0, plan::kEngine, 0, 128, 0, plan::kEngine);
  for (std::int32_t lane = 0; lane < 2; ++lane) t.take(0, lane, lane * 4, 4);  // ends
  for (std::int32_t lane = 0; lane < 32; ++lane) {
    t.take(1, lane, lane * 4, 4);
    t.take_plain(1, lane, lane * 128, 4);
  }
  const Figures f = figures_of(t, kGpuGrain);
  EXPECT_EQ(f.first_take.lanes.size(), 32U);
  EXPECT_EQ(f.taken.cycles, 2);
  EXPECT_EQ(f.plain.cycles, 32);
  EXPECT_EQ(f.put.least, 0) << "the copy engine waits for no bank";
}

TEST(Figures, CountABroadcastsBytesOnce) {
  plan::Trace t;
  t.src_unit = t.dst_unit = 1;
  for (int i = 0; i < 8; ++i) {
    t.load(0, i, 5, 1);
    t.store(0, i, i, 1);
    t.unit(i, i, 5);
  }
  const Figures f = figures_of(t, kGpuGrain);
  EXPECT_EQ(f.src.used, 1);
  EXPECT_EQ(f.dst.used, 8);
}

TEST(Figures, TakeBytesBeforeTheDataPointerIntoTheirOwnSector) {
  plan::Trace t;
  t.load(0, 0, -4, 8);
  EXPECT_EQ(figures_of(t, kGpuGrain).src.sectors, 2);
}

}  // namespace
}  // namespace restride::draw
