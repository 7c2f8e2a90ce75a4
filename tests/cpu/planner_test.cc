#include "src/cpu/planner.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/cpu/families.h"
#include "src/cpu/packed/ways.h"
#include "tests/cpu/decide.h"
#include "tests/support/throws.h"

namespace restride::cpu {
namespace {

using test::holds;
using test::message_of;

struct FieldCase {
  const char* name;
  const char* dst;
  const char* src;
  Family family;
};

TEST(PlanCpu, RowsOfOneRepeatedUnitAreFilledNotTransposed) {
  for (const CpuMachine& m : {CpuMachine(), kZen5Machine, kZen3Machine})
    for (const char* forced : {"", "tile/units"})
      EXPECT_EQ(decide("f32 (1344,16384)", "f32 (1344,16384):(1,0)", forced, m).chosen.kernel.text,
                forced[0] != 0 ? forced : "rows/units")
          << m.name;
}

TEST(PlanCpu, ChoosesTheMeasuredFamilyForTheFieldsCases) {
  // bench/cases/field.json, one of each kind.
  const FieldCase cases[] = {
      {"transpose", "f32 (4096,4096)", "f32 (4096,4096):(1,4096)", Family::kTile},
      {"transpose of odd sizes", "f32 (11003,14001)", "f32 (11003,14001):(1,11003)", Family::kTile},
      {"heads brought together", "f32 (13,2048)", "f32 (13,16,128):(512,6656,4)b", Family::kRows},
      {"pixels to planes", "u8 (256,3,720,1280)", "u8 (256,3,720,1280):(2764800,1,3840,3)", Family::kChannels},
      {"planes to pixels", "u8 (256,720,1280,3)", "u8 (256,720,1280,3):(2764800,1280,1,921600)", Family::kChannels},
      {"structs to arrays", "f32 (3,67108864)", "f32 (3,67108864):(1,3)", Family::kChannels},
      {"records of many bytes to planes", "u8 (20,2000003)", "u8 (20,2000003):(1,20)", Family::kBuffered},
      {"planes to records of many bytes", "u8 (2000003,20)", "u8 (2000003,20):(1,2000003)", Family::kBuffered},
      {"many small matrices", "f32 (8388608,6,6)", "f32 (8388608,6,6):(36,1,6)", Family::kPacked},
      {"every third column", "f32 (8192,8192)", "f32 (8192,8192):(24576,3)", Family::kRows},
      {"three channels of four", "u8 (720,1280,3)", "u8 (720,1280,3):(5120,4,1)", Family::kRows},
      {"an image turned by a quarter", "u8 (720,1280,3)", "u8 (720,1280,3):(-3,2160,1)@2157", Family::kTile},
      {"a small odd matrix", "f32 (24,24)", "f32 (24,24):(1,24)", Family::kTile},
      {"many odd matrices", "u8 (13000,77,129)", "u8 (13000,77,129):(9933,1,77)", Family::kBuffered},
      {"both modes flipped", "f32 (12288,12288)", "f32 (12288,12288):(-12288,-1)@150994943", Family::kPacked},
      {"one row repeated", "f32 (8192,32768)", "f32 (8192,32768):(0,1)", Family::kRows},
      {"conversion in place of a copy", "bf16 (268435456)", "f32 (268435456)", Family::kRun},
      {"plain copy", "f32 (8192,8192)", "f32 (8192,8192)", Family::kRun},
      {"shapes without a common refinement", "f32 (2,3):(4,1)", "f32 (3,2):(4,1)", Family::kGather},
      {"nothing", "f32 (0,3)", "f32 (0)", Family::kNoop},
  };
  for (const FieldCase& c : cases) EXPECT_EQ(name(decide(c.dst, c.src).chosen.kernel.family), name(c.family)) << c.name;
}

TEST(PlanCpu, IsDeterministic) {
  const Decision a = decide("f32 (3,1000):(1000,1)", "f32 (3,1000):(1,3)");
  const Decision b = decide("f32 (3,1000):(1000,1)", "f32 (3,1000):(1,3)");
  EXPECT_EQ(a.chosen.kernel.family, b.chosen.kernel.family);
  ASSERT_EQ(a.others.size(), b.others.size());
  for (std::size_t i = 0; i < a.others.size(); ++i) {
    EXPECT_EQ(a.others[i].kernel.family, b.others[i].kernel.family);
    EXPECT_EQ(a.others[i].predicted.time_ns, b.others[i].predicted.time_ns);
  }
}

TEST(PlanCpu, ListsTheOthersCheapestFirstAndRefusalsLast) {
  const Decision d = decide("f32 (4096,4096)", "f32 (4096,4096):(1,4096)");
  ASSERT_EQ(d.others.size(), kKernelCount - 1);
  double last = d.chosen.predicted.time_ns;
  bool refused = false;
  for (const Candidate& k : d.others) {
    if (!k.applies) {
      refused = true;
      EXPECT_FALSE(k.reason.empty());
      continue;
    }
    EXPECT_FALSE(refused) << name(k.kernel.family) << " behind a refusal";
    EXPECT_GE(k.predicted.time_ns, last);
    last = k.predicted.time_ns;
  }
  EXPECT_TRUE(refused);
}

TEST(PlanCpu, StreamsOutputsThatLeaveTheCacheOnly) {
  EXPECT_EQ(decide("u8 (786432)", "u8 (786432)").chosen.get(ParamId::kStream), 1);
  EXPECT_EQ(decide("u8 (786431)", "u8 (786431)").chosen.get(ParamId::kStream), 0);
}

TEST(PlanCpu, TakesTheFamilyItIsToldTo) {
  for (const char* family : {"rows", "tile", "packed", "buffered", "gather"})
    EXPECT_EQ(name(decide("f32 (64,64)", "f32 (64,64):(1,64)", family).chosen.kernel.family), family);
}

TEST(PlanCpu, SaysWhyAForcedFamilyDoesNotApply) {
  const auto message = [](const char* family) {
    return message_of<ArgumentError>([&] { decide("f32 (2,3):(4,1)", "f32 (3,2):(4,1)", family); });
  };
  EXPECT_TRUE(holds(message("tile"), "family 'tile' does not apply", "no common refinement",
                    "leave the choice to the planner"));
  EXPECT_TRUE(holds(message("run"), "not one run contiguous on both sides"));
  EXPECT_TRUE(holds(message("rows"), "no mode is dense in dst"));
  EXPECT_TRUE(holds(message("packed"), "no set of modes makes dense runs"));
  EXPECT_TRUE(holds(message("magic"), "the CPU has no family 'magic'",
                    "use one of run, rows, tile, packed, buffered, channels, gather"));
}

TEST(PlanCpu, CountsLinesOfScatteredReads) {
  const Decision d = decide("f32 (4096,4096)", "f32 (4096,4096):(1,4096)");
  const Candidate* rows = find(d, Family::kRows);
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->predicted.read_sectors, 4096 * 4096) << "one line a unit";
  EXPECT_EQ(rows->predicted.read_bytes, 4096 * 4096 * 4);
}

TEST(PlanCpu, ChoosesTheMeasuredFamilyOnAmd) {
  const FieldCase cases[] = {
      {"odd matrices of words", "f32 (59000,29,13)", "f32 (59000,29,13):(377,1,29)", Family::kPacked},
      {"odd matrices of bytes", "u8 (170000,17,31)", "u8 (170000,17,31):(527,1,17)", Family::kPacked},
      {"matrices of whole lines", "f32 (24000,32,32)", "f32 (24000,32,32):(1024,1,32)", Family::kPacked},
      {"matrices with ragged columns", "f32 (572,200,250)", "f32 (572,200,250):(50000,1,200)", Family::kTile},
      {"short modes reversed", "f16 (38000,5,3,9,4)", "f16 (38000,5,3,9,4):(540,1,5,15,135)", Family::kBuffered},
      {"a column repeated", "f32 (1344,16384)", "f32 (1344,16384):(1,0)", Family::kRows},
      {"red and blue exchanged", "u8 (36000,1920,3)", "u8 (36000,1920,3):(5760,3,-1)@2", Family::kRows},
  };
  for (const FieldCase& c : cases)
    EXPECT_EQ(name(chosen(c.dst, c.src, kZen5Machine).kernel.family), name(c.family)) << c.name;
}

TEST(PlanCpu, PacksUnitsThatTheMachineShuffles) {
  CpuMachine narrow = kZen5Machine;
  narrow.least_shuffled_unit = 32;
  const auto packed_ns = [](const CpuMachine& m) {
    const Decision d = decide("u8 (900000,7,5)", "u8 (900000,7,5):(35,1,7)", {}, m);
    return find(d, Family::kPacked)->predicted.time_ns;
  };
  EXPECT_LT(packed_ns(kZen5Machine), packed_ns(narrow))
      << "without permutes of two vectors, bytes go by planes or by the table";
}

TEST(PlanCpu, PackedReadsLongerThanItWritesWhereThatPays) {
  // A register of 22 qubits: each side's innermost bits are strewn over the other's.
  std::string ones, strides;
  for (int i = 0; i < 22; ++i) {
    ones += i == 0 ? "2" : ",2";
    strides += fmt::format("{}{}", i == 0 ? "" : ",", std::int64_t{1} << (7 * i + 5) % 22);
  }
  const std::string shape = "c64 (" + ones + ")";
  const std::string src = shape + ":(" + strides + ")";
  EXPECT_EQ(chosen(shape, src, kZen5Machine).kernel.family, Family::kBuffered) << "3.6 ns a line, by packed 5.8";
  const Candidate strewn = decide(shape, src, "packed", kZen5Machine).chosen;
  ASSERT_EQ(strewn.kernel.family, Family::kPacked);
  EXPECT_GT(strewn.get(ParamId::kReadBytes), strewn.get(ParamId::kRunBytes));
  // A tile that is one run of dst reads what it writes.
  const Candidate batch = chosen("u8 (170000,17,31)", "u8 (170000,17,31):(527,1,17)", kZen5Machine);
  EXPECT_EQ(batch.get(ParamId::kReadBytes), batch.get(ParamId::kRunBytes));
}

TEST(PlanCpu, GroupsRowsByTheWindowsThatHoldThem) {
  // 31x17 bytes: 4 rows of 12 columns, and of the other 5, in 64 bytes each; two columns leave at once.
  const Grouping bytes = grouping_of(1, 31, 17, 17, 31);
  EXPECT_EQ(bytes.cells, 16);
  EXPECT_EQ(bytes.columns, 12);
  EXPECT_EQ(bytes.windows, 1);
  EXPECT_EQ(bytes.height, 2);
  EXPECT_EQ(grouping_of(8, 17, 17, 136, 136).columns, 8) << "a row of words a window";
  EXPECT_EQ(grouping_of(1, 31, 17, 500, 31).cells, 0) << "no two windows hold two rows";
  EXPECT_EQ(grouping_of(1, 31, 17, 17, 62).cells, 0) << "short columns with something in between";
  EXPECT_NE(grouping_of(1, 64, 17, 17, 128).cells, 0) << "whole vectors may lie anywhere";
}

TEST(PlanCpu, PrefetchesAmdsMemoryNear) {
  const auto transposed = [&](const CpuMachine& m) { return chosen("f64 (1024,1024)", "f64 (1024,1024):(1,1024)", m); };
  EXPECT_EQ(chosen("f32 (1048576)", "f32 (1048576)", kZen5Machine).get(ParamId::kNear), 1);
  EXPECT_EQ(transposed(kZen5Machine).get(ParamId::kNear), 1);
  EXPECT_EQ(transposed(kZen5Machine).get(ParamId::kTileRows), 32);
  EXPECT_EQ(transposed(kZen5Machine).get(ParamId::kTileCols), 64);
  EXPECT_EQ(transposed({}).get(ParamId::kNear), 0);
  EXPECT_EQ(transposed({}).get(ParamId::kTileRows), 16);
  EXPECT_EQ(chosen("f32 (1024)", "f32 (1024)", kZen5Machine).get(ParamId::kNear), 0) << "stays in the caches";
}

TEST(PlanCpu, JoinsChannelsOnlyWhereTheirRunsAreLong) {
  for (const CpuMachine& m : {CpuMachine(), kZen5Machine, kZen4Machine}) {
    // f16 (35,35,8,24,84) -> (3,0,1,4,2): as channels 0.14 of a copy on a Xeon, by blocks 0.70.
    const Decision runs = decide("f16 (24,35,35,84,8)", "f16 (24,35,35,84,8):(84,564480,16128,1,2016)", {}, m);
    EXPECT_NE(runs.chosen.kernel.family, Family::kChannels) << m.name;
    EXPECT_EQ(decide("f16 (20000000,4)", "f16 (20000000,4):(1,20000000)", {}, m).chosen.kernel.text, "channels/join")
        << m.name;
  }
  // Ends of runs count in each plane, and once.
  EXPECT_EQ(decide("f32 (10000,401,3)", "f32 (10000,401,3):(1203,1,401)").chosen.kernel.text, "channels/join");
  const auto starts = [](int planes) {
    const auto d = decide(fmt::format("f32 (10000,401,{})", planes),
                          fmt::format("f32 (10000,401,{0}):({1},1,401)", planes, 401 * planes), "channels/join");
    return d.chosen.predicted.starts_ns;
  };
  EXPECT_NEAR(starts(6) / starts(3), 2, 1e-9);
}

TEST(PlanCpu, TakesChannelsWithoutPermutesWhereTheyAreMeasured) {
  const auto kernel = [](CpuMachine m) {
    m.least_shuffled_unit = 32;
    return std::string(chosen("u8 (4000,3,50176)", "u8 (4000,3,50176):(150528,1,3)", m).kernel.text);
  };
  EXPECT_EQ(kernel(kZen3Machine), "channels/split");
  EXPECT_EQ(kernel(kZen5Machine), "packed/staged");
}

TEST(PlanCpu, MovesDenseSmallMatricesThroughTheCachesOnZen4) {
  const auto kernel = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    return decide(dst, src, "", m).chosen.kernel.text;
  };
  constexpr std::string_view dst = "f32 (129055,15,13)", src = "f32 (129055,15,13):(195,1,15)";
  EXPECT_EQ(kernel(dst, src, kZen4Machine), "tile/matrices");
  EXPECT_EQ(kernel(dst, src, kZen5Machine), "packed/staged") << "stores split between lines hold up nothing";
  EXPECT_EQ(kernel("f32 (262144,16,16)", "f32 (262144,16,16):(256,1,16)", kZen4Machine), "packed/staged")
      << "columns are lines";
  EXPECT_EQ(kernel("f32 (129055,15,13)", "f32 (129055,15,13):(240,1,16)", kZen4Machine), "packed/staged")
      << "gaps between columns of src";
  EXPECT_EQ(kernel("f32 (300,600,31,12)", "f32 (300,600,31,12):(372,111600,1,31)", kZen4Machine), "packed/staged")
      << "matrices change places";
}

TEST(PlanCpu, StreamsMatricesColumnByColumnWhereThatWasMeasured) {
  const auto streamed = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    const Decision d = decide(dst, src, "", m);
    return d.chosen.kernel.text == "tile/matrices" && d.chosen.get(ParamId::kStream) == 1;
  };
  constexpr std::string_view dst = "f32 (9000,109,97)", src = "f32 (9000,109,97):(10573,1,109)";
  EXPECT_TRUE(streamed(dst, src, kZen4Machine));
  EXPECT_TRUE(streamed(dst, src, {}));
  EXPECT_TRUE(streamed(dst, src, kZen5Machine));
  EXPECT_FALSE(streamed(dst, src, kZen3Machine)) << "no vectors of 64 bytes";
  EXPECT_FALSE(streamed("f32 (2,109,97)", "f32 (2,109,97):(10573,1,109)", kZen4Machine)) << "stays in the caches";
  EXPECT_TRUE(streamed("f32 (31285,65,33)", "f32 (31285,65,33):(2145,1,65)", kZen4Machine));
  EXPECT_FALSE(streamed("f32 (31285,65,33)", "f32 (31285,65,33):(2145,1,65)", {})) << "columns of 132 bytes, a Xeon";
  EXPECT_FALSE(streamed("f32 (6000,109,128)", "f32 (6000,109,128):(13952,1,109)", kZen4Machine)) << "columns on lines";
  EXPECT_FALSE(streamed("f32 (90000,65,17)", "f32 (90000,65,17):(1105,1,65)", kZen4Machine)) << "short columns";
  EXPECT_FALSE(streamed("f32 (1000,301,301)", "f32 (1000,301,301):(90601,1,301)", kZen4Machine)) << "more than 256 KiB";
  EXPECT_FALSE(streamed(dst, "f32 (9000,109,97):(10670,1,110)", kZen4Machine)) << "gaps between rows of src";
  EXPECT_TRUE(streamed("f32 (90,100,109,97)", "f32 (90,100,109,97):(10573,951570,1,109)", kZen4Machine))
      << "matrices change places";
}

TEST(PlanCpu, CountsALineForEachUnitThatGatherReadsFarFromTheLast) {
  constexpr std::string_view dst = "c128 (55203,55)", src = "c128 (55203,55):(1,55203)";
  for (const CpuMachine& m : {CpuMachine(), kZen5Machine, kZen4Machine, kZen3Machine}) {
    EXPECT_NE(chosen(dst, src, m).kernel.family, Family::kGather) << m.name;
    EXPECT_GT(decide(dst, src, "gather", m).chosen.predicted.time_ns, 1.5 * chosen(dst, src, m).predicted.time_ns)
        << "55 runs of src at a time take six times as long as by blocks";
  }
}

TEST(PlanCpu, StreamsMoreMatricesOnZen5AndReadsThemNear) {
  const auto matrices = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    const Decision d = decide(dst, src, "tile/matrices", m);
    return std::pair(d.chosen.get(ParamId::kStream), d.chosen.get(ParamId::kNear));
  };
  constexpr std::pair<std::int64_t, std::int64_t> near = {1, 1}, far = {1, 0}, cached = {0, 0};
  struct Case {
    const char* why;
    std::string_view dst, src;
    std::pair<std::int64_t, std::int64_t> zen4;
  };
  for (const Case& c :
       {Case{"as measured on both", "f32 (9000,109,97)", "f32 (9000,109,97):(10573,1,109)", far},
        {"columns of 1,480 bytes", "f64 (3000,101,185)", "f64 (3000,101,185):(18685,1,101)", cached},
        {"columns of 80 bytes", "c128 (40000,61,5)", "c128 (40000,61,5):(305,1,61)", cached},
        {"columns on lines, rows off them", "f32 (6000,109,128)", "f32 (6000,109,128):(13952,1,109)", cached}}) {
    EXPECT_EQ(matrices(c.dst, c.src, kZen5Machine), near) << c.why;
    EXPECT_EQ(matrices(c.dst, c.src, kZen4Machine), c.zen4) << c.why;
  }
  EXPECT_EQ(matrices("f32 (6000,112,128)", "f32 (6000,112,128):(14336,1,112)", kZen5Machine), cached) << "whole lines";
}

TEST(PlanCpu, MovesShortColumnsOfRecordsThroughTheCachesWhereThatIsMeasured) {
  const auto kernel = [](const char* dst, const char* src, const CpuMachine& m) {
    return std::string(decide(dst, src, "", m).chosen.kernel.text);
  };
  for (const CpuMachine& m : {kZen5Machine, kZen4Machine}) {
    EXPECT_EQ(kernel("u8 (1000000,16,3)", "u8 (1000000,16,3):(3,3000000,1)", m), "tile/matrices");
    EXPECT_EQ(kernel("f32 (500000,8,3)", "f32 (500000,8,3):(3,1500000,1)", m), "tile/matrices");
    EXPECT_NE(kernel("u8 (1000000,12,3)", "u8 (1000000,12,3):(3,3000000,1)", m), "tile/matrices") << "too few rows";
    EXPECT_NE(kernel("f32 (100000,24,3)", "f32 (100000,24,3):(3,300000,1)", m), "tile/matrices") << "288 bytes";
    EXPECT_NE(kernel("u8 (1000000,16,3):(51,3,1)", "u8 (1000000,16,3):(3,3000000,1)", m), "tile/matrices") << "gaps";
  }
  EXPECT_NE(kernel("u8 (1000000,16,3)", "u8 (1000000,16,3):(3,3000000,1)", {}), "tile/matrices") << "a Xeon";
}

// Its tiles for packed have four shapes in turn, so each of them is laid out anew: 0.02 of a plain copy with shuffles,
// 0.2 without, 0.5 by blocks.
TEST(PlanCpu, CountsPackedTilesThatAreLaidOutAnew) {
  for (const CpuMachine& m : {kZen5Machine, kZen4Machine}) {
    const Decision d = decide("f64 (89,16,23,6,6,7)", "f64 (89,16,23,6,6,7):(966,515844,6,85974,1,138)", "", m);
    EXPECT_EQ(d.chosen.kernel.text, "buffered/blocks") << m.name;
    EXPECT_GT(find(d, Family::kPacked)->predicted.time_ns, 1.2 * d.chosen.predicted.time_ns) << m.name;
  }
}

TEST(PlanCpu, SaysWhichLoopWalksRows) {
  const auto loop = [](std::string_view dst, std::string_view src, const CpuMachine& m) {
    return decide(dst, src, "rows/units", m).chosen.get(ParamId::kLoop);
  };
  EXPECT_EQ(loop("f32 (4096,1024)", "f32 (4096,1024):(1025,1)", {}), 1) << "long rows past the caches";
  EXPECT_EQ(loop("f32 (40,1024)", "f32 (40,1024):(1025,1)", {}), 2) << "rows in the caches";
  EXPECT_EQ(loop("f32 (40,64,3)", "f32 (40,64,3):(65536,1024,1)", {}), 2) << "short rows in the caches";
  EXPECT_EQ(loop("f32 (65536,32)", "f32 (65536,32):(33,1)", kZen5Machine), 3) << "two lines, near";
  EXPECT_EQ(loop("f32 (65536,33)", "f32 (65536,33):(34,1)", kZen5Machine), 4) << "132 bytes";
  EXPECT_EQ(loop("f32 (65536,33)", "f32 (65536,33):(-34,1)@2228190", {}), 4) << "walked upwards within a row";
  EXPECT_EQ(loop("f32 (4096,1024)", "f32 (4096,1024):(1025,1)", kZen5Machine), 0) << "pieces near";
  EXPECT_EQ(decide("f32 (1048576)", "f32 (1048576)", "run/pieces", kZen5Machine).chosen.get(ParamId::kLoop), 0);
}

TEST(PlanCpu, ReadsAmdsRowsAsTheyLieInTheSource) {
  const auto order = [](std::int64_t units, const CpuMachine& m) {
    const std::int64_t rows = (64 << 20) / 4 / 800 / units;
    const std::string shape = fmt::format("f32 ({},800,{})", rows, units);
    const Candidate k = chosen(shape, fmt::format("{}:({},{},1)", shape, units, rows * units), m);
    EXPECT_EQ(k.kernel.family, Family::kRows);
    return k.get(ParamId::kOrder);
  };
  EXPECT_EQ(order(368, kZen5Machine), 2);
  EXPECT_EQ(order(368, {}), 0);
  EXPECT_EQ(order(151, kZen5Machine), 2);
  EXPECT_EQ(order(32, kZen5Machine), 2) << "two whole lines";
  EXPECT_EQ(order(35, kZen5Machine), 0) << "two lines shared with other rows";
}

// Prefetched just before their turn and written from their ends, long rows of pixels that go down in src took 1.3
// to 1.6 times as long, and up to 2.3 times where they are no whole lines.
TEST(PlanCpu, ReadsPixelsThatGoDownwardsFarOnAZen4) {
  const auto way = [](std::int64_t pixels, std::string_view src, const CpuMachine& m, int cell = 3) {
    const std::string shape = fmt::format("u8 (30000,{},3)", pixels);
    const std::string dst = fmt::format("{}:({},{},1)", shape, cell * pixels, cell);
    const Candidate k = decide(dst, shape + std::string(src), "rows/records", m).chosen;
    return std::pair(k.get(ParamId::kNear), k.get(ParamId::kOrder));
  };
  using Way = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(way(1024, ":(3072,-3,1)@3069", kZen4Machine), Way(0, 0)) << "3 KiB";
  EXPECT_EQ(way(1024, ":(3072,-3,1)@3069", kZen5Machine), Way(1, 2)) << "not measured there";
  EXPECT_EQ(way(1919, ":(-5760,-3,1)@172799994", kZen4Machine), Way(0, 0)) << "a half turn, no whole lines";
  EXPECT_EQ(way(960, ":(2880,-3,1)@2877", kZen4Machine), Way(1, 2)) << "45 lines";
  EXPECT_EQ(way(284, ":(-927,-3,1)@27809922", kZen4Machine), Way(1, 0)) << "13 lines and 20 bytes";
  EXPECT_EQ(way(1008, ":(3024,-3,1)@3021", kZen4Machine, 4), Way(1, 2)) << "63 lines of cells";
  EXPECT_EQ(way(1920, ":(5760,3,-1)@2", kZen4Machine), Way(1, 0)) << "upwards";
}

TEST(PlanCpu, LeavesSomeRecordsToThePrefetcherOfAZen4) {
  const auto ahead = [](std::string_view dst, std::string_view src, const CpuMachine& m = kZen4Machine) {
    return decide(dst, src, "rows/records", m).chosen.get(ParamId::kAhead, -1);
  };
  EXPECT_EQ(ahead("u8 (9000000,4)", "u8 (9000000,4):(4,-1)@3"), 0);
  EXPECT_EQ(ahead("u8 (9000000,4)", "u8 (9000000,4):(4,-1)@3", kZen5Machine), 1) << "not measured there";
  EXPECT_EQ(ahead("u8 (9000000,3)", "u8 (9000000,3):(4,1)"), 0) << "RGBA into RGB";
  EXPECT_EQ(ahead("u8 (9000000,3)", "u8 (9000000,3):(3,-1)@2"), 1) << "cells of three bytes";
  EXPECT_EQ(ahead("f32 (9000000)", "f32 (9000000):(2)"), 0);
  EXPECT_EQ(ahead("f32 (9000000)", "f32 (9000000):(4)"), 1) << "one cell of four";
  EXPECT_EQ(ahead("u8 (9000000,3):(4,1)", "u8 (9000000,3)"), 0) << "RGB into RGBA";
  EXPECT_EQ(ahead("u8 (9000000,2):(4,1)", "u8 (9000000,2)"), 1) << "cells of twice the size";
  EXPECT_EQ(ahead("u8 (9000000,3)", "u8 (9000000,3):(-4,1)@35999996"), 1) << "downwards";
}

}  // namespace
}  // namespace restride::cpu
