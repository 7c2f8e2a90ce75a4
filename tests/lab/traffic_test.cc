// Sectors and bank conflicts, counted from the maps: the figures that docs/lab.md states.
#include "lab/traffic.h"

#include <gtest/gtest.h>

#include "lab/rungs.h"

namespace restride::lab {
namespace {

struct Stated {
  const char* rung;
  int element_bytes;
  double load_sectors, store_sectors;   // per request
  double put_conflicts, get_conflicts;  // degree; 0: no shared memory
};

// On 512 x 512, where every tile is whole. An engine's loads are no requests: 0.
const Stated kStated[] = {
    {"copy_simple", 4, 4, 4, 0, 0}, {"copy_simple", 2, 2, 2, 0, 0},  {"copy_simple", 1, 1, 1, 0, 0},
    {"copy_tile", 4, 4, 4, 0, 0},   {"copy_shared", 4, 4, 4, 1, 1},  {"copy_shared", 1, 1, 1, 1, 1},
    {"naive", 4, 4, 32, 0, 0},      {"naive", 2, 2, 32, 0, 0},       {"naive", 1, 1, 32, 0, 0},
    {"block_map", 4, 4, 8, 0, 0},   {"block_map", 2, 4, 8, 0, 0},    {"block_map", 1, 4, 8, 0, 0},
    {"shared", 4, 4, 4, 1, 32},     {"shared", 2, 2, 2, 1, 16},      {"shared", 1, 1, 1, 1, 8},
    {"padded", 4, 4, 4, 1, 1},      {"swizzle", 4, 4, 4, 1, 1},      {"swizzle", 2, 2, 2, 1, 1},
    {"swizzle", 1, 1, 1, 1, 1},     {"diagonal", 4, 4, 4, 1, 1},     {"vector", 4, 16, 16, 1, 1},
    {"vector", 2, 16, 16, 1, 1},    {"vector", 1, 16, 16, 1, 1},     {"along_dst", 4, 4, 4, 1, 1},
    {"tma_ring", 4, 0, 16, 0, 1},   {"tma", 4, 0, 16, 0, 1},         {"tma", 2, 0, 16, 0, 1},
    {"tma", 1, 0, 16, 0, 1},        {"cpy_strided", 4, 32, 4, 0, 0}, {"cpy_strided_f16", 4, 32, 2, 0, 0},
};

TEST(Traffic, OfEveryRungIsWhatThePagesState) {
  for (const Stated& s : kStated) {
    SCOPED_TRACE(testing::Message() << s.rung << " with " << s.element_bytes << "-byte elements");
    const Traffic t = find_rung(s.rung).traffic({512, 512}, s.element_bytes);
    EXPECT_EQ(t.load_sectors.value_or(0), s.load_sectors);
    EXPECT_EQ(t.store_sectors.value_or(0), s.store_sectors);
    EXPECT_EQ(t.put_conflicts.value_or(0), s.put_conflicts);
    EXPECT_EQ(t.get_conflicts.value_or(0), s.get_conflicts);
  }
}

// A pad of one small element shifts a row by half or a quarter of a bank: down some columns two rows meet.
TEST(Traffic, PaddingByOneElementDoesNotFreeSmallElementsOfConflicts) {
  EXPECT_EQ(find_rung("padded").traffic({512, 512}, 2).get_conflicts, 1.5);
  EXPECT_EQ(find_rung("padded").traffic({512, 512}, 1).get_conflicts, 1.75);
}

TEST(Traffic, LanesOfFourBytesSpareSmallElementsConflicts) {
  for (const int bytes : {4, 2, 1}) {
    const Traffic t = find_rung("cpy_transpose_batched").traffic({256, 256, 8}, bytes);
    EXPECT_EQ(t.get_conflicts, 1.0);
    EXPECT_EQ(t.put_conflicts, 1.0);
    EXPECT_EQ(t.load_sectors, bytes);
  }
}

TEST(Traffic, UnalignedRowsCostMoreSectors) {
  EXPECT_GT(*find_rung("padded").traffic({511, 511}, 4).load_sectors, 4.5);
  EXPECT_GT(*find_rung("padded").traffic({511, 511}, 4).store_sectors, 4.5);
}

TEST(WarpAccess, CountsASectorOnceHoweverManyLanesAskForIt) {
  WarpAccess a;
  for (int lane = 0; lane < 32; ++lane) a.add(lane % 8 * 4, 4);
  EXPECT_EQ(a.sectors(), 1);
  EXPECT_EQ(a.wavefronts(), 1);  // eight words, each given to four lanes
}

TEST(WarpAccess, CountsBothSectorsOfAnAccessThatStraddlesThem) {
  WarpAccess a;
  a.add(30, 4);
  EXPECT_EQ(a.sectors(), 2);
}

TEST(WarpAccess, TakesVectorsEightLanesAtATime) {
  WarpAccess a;
  for (int lane = 0; lane < 32; ++lane) a.add(lane * 16, 16);
  EXPECT_EQ(a.sectors(), 16);
  EXPECT_EQ(a.wavefronts(), 4);
  EXPECT_EQ(a.least_wavefronts(), 4);
}

TEST(WarpAccess, SerialisesWordsOfOneBank) {
  WarpAccess a;
  for (int lane = 0; lane < 32; ++lane) a.add(lane * 128, 4);
  EXPECT_EQ(a.wavefronts(), 32);
}

}  // namespace
}  // namespace restride::lab
