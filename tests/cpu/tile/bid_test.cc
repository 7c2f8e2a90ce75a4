// What the bids of tile say of its kernels' shapes: where rows are read, how they are prefetched, how columns leave.
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/cpu/planner.h"
#include "tests/cpu/decide.h"

namespace restride::cpu {
namespace {

TEST(TileBid, ReadsTilesInPlaceWhereAPrefetcherFollowsALineOfEachRow) {
  const auto tile = [](const char* unit, const CpuMachine& m) {
    const std::string shape = std::string(unit) + " (1999,1999)";
    return decide(shape, shape + ":(1,1999)", "tile/units", m).chosen;
  };
  const Candidate words = tile("f32", kZen4Machine);
  EXPECT_EQ(words.get(ParamId::kNear), 0);
  EXPECT_EQ(words.get(ParamId::kSource), 1);
  EXPECT_EQ(words.get(ParamId::kSideBySide), 1);
  const Candidate bytes = tile("u8", kZen4Machine);
  EXPECT_EQ(bytes.get(ParamId::kSource), 1);
  EXPECT_EQ(bytes.get(ParamId::kTileRows), 128) << "two lines of a column leave in turn";
  EXPECT_EQ(bytes.get(ParamId::kLate), 0);
  const Candidate narrowed = decide("u8 (2048,2048)", "f32 (2048,2048):(1,2048)", "tile/units", kZen4Machine).chosen;
  EXPECT_EQ(narrowed.get(ParamId::kTileRows), 64) << "what is converted is staged whole";
  EXPECT_EQ(narrowed.get(ParamId::kLate), 1) << "a tile has one line of a column";
  const Candidate crowded = decide("u8 (4096,4096)", "u8 (4096,4096):(1,4096)", "tile/units", kZen4Machine).chosen;
  EXPECT_EQ(crowded.get(ParamId::kSource), 0) << "rows share sets of the first cache";
  EXPECT_EQ(crowded.get(ParamId::kSideBySide), 1) << "two lines of each row in turn";
  const Candidate far = decide("f16 (65536,640)", "f16 (65536,640):(1,65536)", "tile/units", kZen4Machine).chosen;
  EXPECT_EQ(far.get(ParamId::kSource), 0);
  EXPECT_EQ(far.get(ParamId::kSideBySide), 0) << "rows lie 128 KiB apart";
  EXPECT_EQ(
      decide("f32 (1999,1999)", "f16 (1999,1999):(1,1999)", "tile/units", kZen4Machine).chosen.get(ParamId::kSource), 0)
      << "a conversion is staged";
  CpuMachine staged = kZen4Machine;
  staged.tile_least_in_place_bytes = 32;
  EXPECT_EQ(tile("f32", staged).get(ParamId::kSource), 0);
  EXPECT_EQ(tile("f32", staged).get(ParamId::kSideBySide), 1);
  staged.tile_side_by_side = false;
  EXPECT_EQ(tile("f32", staged).get(ParamId::kSideBySide), 0);
  EXPECT_EQ(chosen("f32 (1048576)", "f32 (1048576)", kZen4Machine).get(ParamId::kNear), 1) << "runs are read near";
}

TEST(TileBid, ReadsTilesNearWithoutPermutesToo) {
  CpuMachine zen3 = kZen3Machine;
  zen3.least_shuffled_unit = 32;
  const auto tile = [&](const char* dst, const char* src) { return decide(dst, src, "tile/units", zen3).chosen; };
  const Candidate spread = tile("f32 (1999,1999)", "f32 (1999,1999):(1,1999)");
  EXPECT_EQ(spread.get(ParamId::kNear), 1);
  EXPECT_EQ(spread.get(ParamId::kSource), 1);
  EXPECT_EQ(spread.get(ParamId::kTileRows), 64) << "four lines of a column";
  EXPECT_EQ(tile("f16 (1999,1999)", "f16 (1999,1999):(1,1999)").get(ParamId::kTileRows), 128);
  EXPECT_EQ(tile("f32 (4096,4096)", "f32 (4096,4096):(1,4096)").get(ParamId::kSource), 0) << "rows share sets";
  zen3.least_shuffled_unit = 2;
  EXPECT_EQ(tile("f32 (1999,1999)", "f32 (1999,1999):(1,1999)").get(ParamId::kSource), 0)
      << "no AMD has AVX-512 without permutes of bytes";
}

TEST(TileBid, SaysHowATilesColumnsLeave) {
  const auto sink = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    return decide(dst, src, "tile/units", m).chosen.get(ParamId::kSink);
  };
  EXPECT_EQ(sink("f32 (64,96)", "f32 (64,96):(1,64)", {}), 0) << "stays in the caches";
  EXPECT_EQ(sink("f32 (1024,1024)", "f32 (1024,1024):(1,1024)", {}), 1) << "whole lines";
  EXPECT_EQ(sink("f32 (1024,1025)", "f32 (1024,1025):(1,1024)", {}), 2) << "ends inside lines";
  const char* off_dst = "f32 (1000,1000):(4001,4)b";
  const char* off_src = "f32 (1000,1000):(4,4003)b";
  CpuMachine narrow;
  narrow.least_shuffled_unit = 32;
  EXPECT_EQ(sink(off_dst, off_src, {}), 0) << "no permute joins parts of lanes";
  EXPECT_EQ(sink(off_dst, off_src, narrow), 2) << "a buffer does";
}

TEST(TileBid, SaysWhereATilesRowsAreRead) {
  const auto source = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    return decide(dst, src, "tile", m).chosen.get(ParamId::kSource);
  };
  EXPECT_EQ(source("f32 (1024,1000)", "f32 (1024,1000):(1,1040)", {}), 1);
  CpuMachine staging;
  staging.tile_least_in_place_bytes = 32;
  EXPECT_EQ(source("f32 (1024,1000)", "f32 (1024,1000):(1,1040)", staging), 0);
  EXPECT_EQ(source("f32 (1024,1040)", "f32 (1024,1040):(1,1040)", kZen5Machine), 1) << "rows spread over the sets";
  EXPECT_EQ(source("f32 (1024,1024)", "f32 (1024,1024):(1,1024)", kZen5Machine), 0) << "rows meet in the same sets";
  EXPECT_EQ(source("f32 (1024,1025)", "f32 (1024,1025):(1,1024)", kZen5Machine), 1) << "blocks read whole lines";
  EXPECT_EQ(source("f16 (1024,1040)", "f32 (1024,1040):(1,1040)", kZen5Machine), 0) << "what is converted is staged";
  EXPECT_EQ(source("u8 (1000,1000,3)", "u8 (1000,1000,3):(3,3000,1)", kZen5Machine), 1) << "pixels";
}

TEST(TileBid, SaysHowATilesRowsArePrefetchedAndItsColumnsFollow) {
  const auto flags = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    const Candidate k = decide(dst, src, "tile/units", m).chosen;
    return fmt::format("{}{}{}", k.get(ParamId::kLate), k.get(ParamId::kSideBySide), k.get(ParamId::kOddAhead));
  };
  EXPECT_EQ(flags("u8 (1024,1024)", "u8 (1024,1024):(1,1024)", kZen5Machine), "111")
      << "columns an even number of lines apart";
  EXPECT_EQ(flags("u8 (1024,1024)", "u8 (1024,1024):(1,1024)", {}), "110") << "a tile has one line of each column";
  CpuMachine row_by_row;
  row_by_row.tile_least_in_place_bytes = 32;
  row_by_row.tile_side_by_side = false;
  EXPECT_EQ(flags("u8 (1024,1024)", "u8 (1024,1024):(1,1024)", row_by_row), "100") << "nothing is prefetched near";
  EXPECT_EQ(flags("u8 (1088,1088)", "u8 (1088,1088):(1,1088)", kZen5Machine), "010") << "columns 17 lines apart";
  EXPECT_EQ(flags("f32 (2048,2048)", "f32 (2048,2048):(1,2048)", kZen5Machine), "011") << "rows 8 KiB apart";
  EXPECT_EQ(flags("f32 (1040,1040)", "f32 (1040,1040):(1,1040)", kZen5Machine), "010");
  CpuMachine narrow;
  narrow.least_shuffled_unit = 32;
  EXPECT_EQ(flags("u8 (1024,1024)", "u8 (1024,1024):(1,1024)", narrow), "000") << "vectors of half a line";
}

TEST(TileBid, SaysWhichRecordsStayInRegisters) {
  const auto triples = [](std::string_view dst, std::string_view src, std::int64_t least_shuffled_unit) {
    CpuMachine m;
    m.least_shuffled_unit = least_shuffled_unit;
    return decide(dst, src, "tile/records", m).chosen.get(ParamId::kRecordWay);
  };
  EXPECT_EQ(triples("u8 (100,100,3)", "u8 (100,100,3):(3,300,1)", 1), 1);
  EXPECT_EQ(triples("u8 (100,100,3)", "u8 (100,100,3):(3,300,1)", 2), 0) << "no permute of bytes";
  EXPECT_EQ(triples("f32 (100,100,3)", "f32 (100,100,3):(3,300,1)", 2), 1);
  EXPECT_EQ(triples("u8 (100,100,5)", "u8 (100,100,5):(5,500,1)", 1), 0) << "five parts";
}

TEST(TileBid, ColumnsOfMergedRecordsAreAsLongAsTheMachineHasThem) {
  const auto rows = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    const Candidate k = decide(dst, src, "tile/records", m).chosen;
    EXPECT_EQ(k.get(ParamId::kRecordWay), 2);
    return k.get(ParamId::kTileRows);
  };
  constexpr std::string_view five = "u8 (4096,4096,5)", five_src = "u8 (4096,4096,5):(5,20480,1)";
  constexpr std::string_view twelve = "u8 (4096,4096,12)", twelve_src = "u8 (4096,4096,12):(12,49152,1)";
  EXPECT_EQ(rows(five, five_src, {}), 64);
  EXPECT_EQ(rows(five, five_src, kZen4Machine), 128);
  EXPECT_EQ(rows(twelve, twelve_src, {}), 32);
  EXPECT_EQ(rows(twelve, twelve_src, kZen4Machine), 64);
}

TEST(TileBid, MergesRecordsOnZen4PastTheCaches) {
  const auto chosen = [](std::string_view dst, std::string_view src, const CpuMachine& m, ParamId id) {
    return decide(dst, src, "tile/records", m).chosen.get(id);
  };
  const auto way = [&](std::string_view dst, std::string_view src, const CpuMachine& m) {
    return chosen(dst, src, m, ParamId::kRecordWay);
  };
  constexpr std::string_view dst = "u8 (3072,3072,9)", src = "u8 (3072,3072,9):(9,27648,1)";
  EXPECT_EQ(way(dst, src, kZen4Machine), 2);
  EXPECT_EQ(chosen(dst, src, kZen4Machine, ParamId::kSource), 1) << "rows start in four sets";
  EXPECT_EQ(chosen(dst, src, kZen4Machine, ParamId::kTileCols) % 6, 0) << "whole blocks";
  EXPECT_EQ(way(dst, src, kZen5Machine), 0) << "not measured";
  EXPECT_EQ(way("u8 (100,100,9)", "u8 (100,100,9):(9,900,1)", kZen4Machine), 0) << "stays in the caches";
  EXPECT_EQ(way("u8 (4096,4096,3)", "u8 (4096,4096,3):(3,12288,1)", kZen4Machine), 1);
  EXPECT_EQ(way("u8 (4096,4096,5)", "u8 (4096,4096,5):(5,20480,1)", kZen4Machine), 2);
  EXPECT_EQ(chosen("u8 (4096,4096,5)", "u8 (4096,4096,5):(5,20480,1)", kZen4Machine, ParamId::kSource), 0)
      << "rows start in one set";
  CpuMachine no_bytes = kZen4Machine;
  no_bytes.least_shuffled_unit = 2;
  EXPECT_EQ(way(dst, src, no_bytes), 0) << "no permute of bytes";
}

}  // namespace
}  // namespace restride::cpu
