#include <gtest/gtest.h>

#include <string_view>

#include "src/cpu/buffered/sets.h"
#include "src/cpu/planner.h"

namespace restride::cpu {
namespace {

TEST(CpuBuffered, AZen4PrefetchesBlocksIntoTheSecondCache) {
  const auto near = [](std::string_view dst, std::string_view src, const CpuMachine& machine, int threads) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    return plan_cpu(c, machine, "buffered", threads).chosen.get(ParamId::kNear);
  };
  constexpr std::string_view short_runs[] = {"u8 (13,25,23,27,19,27)",
                                             "u8 (13,25,23,27,19,27):(1,180063,4501575,13,351,6669)"};
  constexpr std::string_view batch[] = {"f16 (9000,67,35)", "f16 (9000,67,35):(2345,1,67)"};
  constexpr std::string_view large[] = {"c64 (1000,100,100)", "c64 (1000,100,100):(10000,1,100)"};
  for (const auto& copy : {short_runs, batch, large}) {
    for (int threads : {1, 2}) EXPECT_EQ(near(copy[0], copy[1], kZen4Machine, threads), 0) << copy[0];
    EXPECT_EQ(near(copy[0], copy[1], kZen5Machine, 1), 1) << copy[0];
    EXPECT_EQ(near(copy[0], copy[1], CpuMachine(), 1), 0) << copy[0];
  }
}

TEST(CpuBuffered, AZen4PadsColumnsThatEndInsideLines) {
  const auto padded = [](std::string_view dst, std::string_view src, const CpuMachine& machine) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    return plan_cpu(c, machine, "buffered", 1).chosen.get(ParamId::kPadded);
  };
  EXPECT_EQ(padded("u8 (60000,311)", "u8 (60000,311):(1,60000)", kZen4Machine), 1);
  EXPECT_EQ(padded("u8 (60000,311)", "u8 (60000,311):(1,60000)", kZen5Machine), 0) << "no faster there";
  EXPECT_EQ(padded("u8 (60000,320)", "u8 (60000,320):(1,60000)", kZen4Machine), 0) << "columns are whole lines";
  EXPECT_EQ(padded("u8 (60000,67)", "u8 (60000,67):(1,60000)", kZen4Machine), 0) << "half of a block would be padding";
  EXPECT_EQ(padded("f16 (9000,67,135)", "f16 (9000,67,135):(9045,1,67)", kZen4Machine), 1) << "long runs of src";
}

TEST(CpuBuffered, ZensTakeSmallerBlocksPastTheCaches) {
  const auto block = [](std::string_view dst, std::string_view src, const CpuMachine& machine) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    const Candidate k = plan_cpu(c, machine, "buffered", 1).chosen;
    BufferedSets sets;
    EXPECT_TRUE(buffered_sets(c, k.get(ParamId::kRunBytes), k.get(ParamId::kReadBytes), &sets));
    return sets.units * c.dst_unit;
  };
  constexpr std::string_view past[] = {"f32 (103563,243)", "f32 (103563,243):(1,103563)"};
  constexpr std::string_view inside[] = {"f32 (512,243)", "f32 (512,243):(1,512)"};
  EXPECT_EQ(block(past[0], past[1], kZen5Machine), 243 * 64 * 4) << "half of the largest";
  EXPECT_EQ(block(past[0], past[1], kZen4Machine), 243 * 64 * 4);
  EXPECT_EQ(block(past[0], past[1], CpuMachine()), 243 * 128 * 4) << "as large as a block may be";
  EXPECT_EQ(block(inside[0], inside[1], kZen5Machine), block(inside[0], inside[1], CpuMachine()));
}

TEST(CpuBuffered, GoesDownColumnsThatMeetWhereTheCopyStaysInTheCaches) {
  const auto band = [](std::string_view dst, std::string_view src) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    return plan_cpu(c, kZen5Machine, "buffered", 1).chosen.get(ParamId::kBandCols, -1);
  };
  EXPECT_EQ(band("f32 (12,8,608)", "f32 (12,8,608):(8,1,96)"), 0) << "columns 19 lines apart spread";
  EXPECT_EQ(band("f32 (96,2,512)", "f32 (96,2,512):(1,49152,96)"), 16) << "columns 4 KiB apart";
  EXPECT_EQ(band("f64 (96,2,256)", "f64 (96,2,256):(1,24576,96)"), 8);
  EXPECT_EQ(band("f32 (96,64,512)", "f32 (96,64,512):(1,49152,96)"), 0) << "past the caches columns lie in a block";
}

}  // namespace
}  // namespace restride::cpu
