// Which kernels the CPU planner chooses for copies that stay in the caches, and how it prices them.
#include <gtest/gtest.h>

#include "src/cpu/families.h"
#include "tests/cpu/decide.h"

namespace restride::cpu {
namespace {

TEST(InCaches, TurnsImagesInTheCachesWithoutTiles) {
  const auto kernel = [](std::int64_t least_shuffled_unit, const char* dst, const char* src) {
    CpuMachine m = kZen3Machine;
    m.least_shuffled_unit = least_shuffled_unit;
    return std::string(chosen(dst, src, m).kernel.text);
  };
  EXPECT_EQ(kernel(32, "u8 (224,224,3)", "u8 (224,224,3):(3,672,1)"), "tile/matrices");
  EXPECT_EQ(kernel(1, "u8 (224,224,3)", "u8 (224,224,3):(3,672,1)"), "tile/matrices");
  EXPECT_EQ(kernel(1, "u8 (4096,4096,3)", "u8 (4096,4096,3):(3,12288,1)"), "tile/records") << "past the caches";
  EXPECT_NE(kernel(32, "f32 (60,60,5)", "f32 (60,60,5):(5,300,1)"), "tile/matrices") << "records of 20 bytes";
  EXPECT_NE(kernel(32, "u8 (4096,4096,3)", "u8 (4096,4096,3):(3,12288,1)"), "tile/matrices") << "past the caches";
}

TEST(InCaches, GoesDownColumnsThatMeetInTheFirstCache) {
  const auto order = [](const char* dst, const char* src, const CpuMachine& m) {
    const Candidate k = chosen(dst, src, m);
    return k.kernel.text == "tile/matrices" ? k.get(ParamId::kOrder) : -1;
  };
  for (const CpuMachine& m : {kZen4Machine, kZen5Machine}) {
    EXPECT_EQ(order("f64 (256,250)", "f64 (256,250):(1,256)", m), 2) << "columns spread";
    EXPECT_EQ(order("f64 (250,256)", "f64 (250,256):(1,250)", m), 0) << "two sets for all columns";
    EXPECT_EQ(order("f64 (250,256):(260,1)", "f64 (250,256):(1,250)", m), 2) << "columns spread by their gaps";
    EXPECT_EQ(order("f64 (128,512)", "f64 (128,512):(1,128)", m), 0);
    EXPECT_EQ(order("u8 (512,500)", "u8 (512,500):(1,512)", m), 2);
    EXPECT_EQ(order("u8 (4096,128)", "u8 (4096,128):(1,4096)", m), 0) << "rows meet, so lines of them are staged";
    EXPECT_EQ(order("u8 (16,4096)", "u8 (16,4096):(1,16)", m), 2) << "rows of less than two lines";
  }
  CpuMachine no_permutes = kZen3Machine;
  no_permutes.least_shuffled_unit = 32;
  EXPECT_EQ(order("f64 (250,256)", "f64 (250,256):(1,250)", no_permutes), 2) << "no vectors of 64 bytes";
  EXPECT_EQ(chosen("f64 (250,256)", "f64 (250,256):(1,250)", kZen5Machine).get(ParamId::kBandCols), 8) << "a line";
}

TEST(InCaches, PricesCopiesInTheCachesForThem) {
  const auto kernel = [](const char* dst, const char* src, const CpuMachine& m = kZen4Machine) {
    return chosen(dst, src, m).kernel.text;
  };
  // Heads: rows of 64 bytes are copied as they lie; staged they take three times as long, and ten where they are few.
  EXPECT_EQ(kernel("f32 (4,20,56,16)", "f32 (4,20,56,16):(17920,16,320,1)"), "rows/units");
  EXPECT_EQ(kernel("f32 (2,2,23,16)", "f32 (2,2,23,16):(736,16,32,1)"), "rows/units");
  EXPECT_EQ(kernel("f32 (4,20,56,16)", "f32 (4,20,56,16):(17920,16,320,1)", {}), "rows/units");
  EXPECT_EQ(kernel("f32 (4,4,4,4,4,4)", "f32 (4,4,4,4,4,4):(256,4,1,1024,16,64)"), "buffered/blocks");
  // A call for each four bytes takes longer than picking them one by one.
  EXPECT_NE(kernel("u8 (4,144,144)", "f64 (4,144,144):(20736,1,144)"), "gather/units");
  EXPECT_NE(kernel("u8 (4,144,144)", "f64 (4,144,144):(1,684,4)"), "buffered/blocks");
  // Units that are read one by one take longer where their lines meet in the first cache.
  CpuMachine zen5 = kZen5Machine;
  zen5.thread_cache_bytes = 16 << 20;
  const auto rows_ns = [&](const char* src) {
    const Decision d = decide("c128 (32,16,8,16)", src, {}, zen5);
    return find(d, Family::kRows)->predicted.time_ns;
  };
  const double meeting = rows_ns("c128 (32,16,8,16):(1,32,512,4096)");
  const double apart = rows_ns("c128 (32,16,8,16):(1,33,561,4501)");
  EXPECT_NEAR(meeting / apart, zen5.lines_meet, 0.01);
  // One unit repeated along a row of dst reads one line.
  EXPECT_EQ(kernel("f16 (9236)", "f16 (9236):(0)"), "rows/units");
}

TEST(InCaches, MovesPartsOfLargerMatricesOneByOne) {
  const auto kernel = [](const char* dst, const char* src, CpuMachine m) {
    m.thread_cache_bytes = 16 << 20;
    return std::string(chosen(dst, src, m).kernel.text);
  };
  for (const CpuMachine& m : {kZen4Machine, kZen5Machine}) {
    EXPECT_EQ(kernel("f32 (8,4,8,160,8)", "f32 (8,4,8,160,8):(5120,160,40960,1,640)", m), "tile/matrices");
    EXPECT_EQ(kernel("c128 (40,21,23,27)", "c128 (40,21,23,27):(27,24840,1080,1)", m), "rows/units") << "runs";
    EXPECT_EQ(kernel("c128 (7,9,21,23)", "c128 (7,9,21,23):(207,23,1449,1)", m), "rows/units") << "runs";
    EXPECT_EQ(kernel("c128 (27,9,21,23)", "c128 (27,9,21,23):(1,621,5589,27)", m), "tile/matrices");
    EXPECT_EQ(kernel("f32 (64,44,12,4)", "f32 (64,44,12,4):(44,1,2816,33792)", m), "buffered/blocks")
        << "44 columns of 16 bytes in one cache set";
    EXPECT_NE(kernel("u8 (8,8,8,8,8,8,8)", "u8 (8,8,8,8,8,8,8):(1,8,64,512,4096,32768,262144)", m), "buffered/blocks")
        << "rows and columns meet";
    EXPECT_NE(kernel("f32 (64,40,8,160,8)", "f32 (64,40,8,160,8):(51200,160,3276800,1,6400)", m), "tile/matrices")
        << "past the caches";
    EXPECT_EQ(
        std::string(decide("f32 (64,40,8,160,8)", "f32 (64,40,8,160,8):(51200,160,3276800,1,6400)", "tile/matrices", m)
                        .chosen.kernel.text),
        "tile/matrices")
        << "where the caller wants it";
    // No row or column goes on in another mode.
    EXPECT_EQ(kernel("f32 (300,400)", "f32 (300,400):(1,300)", m), "tile/matrices");
  }
}

TEST(InCaches, MovesPartsOfMatricesByPermutesOnly) {
  CpuMachine no_permutes = kZen3Machine;
  no_permutes.least_shuffled_unit = 32;
  EXPECT_NE(chosen("f32 (8,4,8,16,8)", "f32 (8,4,8,16,8):(512,16,4096,1,64)", no_permutes).kernel.text,
            "tile/matrices");
}

TEST(InCaches, CountsTheLayoutOfPlanesInSmallCopies) {
  for (const CpuMachine& m : {kZen4Machine, kZen5Machine}) {
    EXPECT_EQ(chosen("f16 (9,17)", "f16 (9,17):(1,9)", m).kernel.text, "tile/matrices");
    EXPECT_EQ(chosen("u8 (2,17,35)", "u8 (2,17,35):(595,1,17)", m).kernel.text, "tile/matrices");
    EXPECT_NE(chosen("f32 (3,2,4,4)", "f32 (3,2,4,4):(4,48,1,12)", m).kernel.text, "packed/staged");
  }
}

TEST(InCaches, CountsShortRowsOfTilesAndRecordsThatAreNone) {
  for (const CpuMachine& m : {kZen4Machine, kZen5Machine}) {
    // Two units of dst follow each other, but the next two lie 16 bytes on: no records that vectors store at once.
    EXPECT_EQ(chosen("u8 (3,24,12,8,8,2)", "u8 (3,24,12,8,8,2):(36864,96,8,1,2304,18432)", m).kernel.text,
              "buffered/blocks");
    EXPECT_EQ(chosen("u8 (5,6,5,32,6,5)", "u8 (5,6,5,32,6,5):(1,24000,800,25,4000,5)", m).kernel.text,
              "buffered/blocks")
        << "each row of a tile has five bytes";
  }
}

TEST(InCaches, ColumnsStayAsLongAsRunsWhereThatIsMeasured) {
  const auto streams = [](const char* dst, const char* src, CpuMachine m) {
    m.thread_cache_bytes = 16 << 20;
    return chosen(dst, src, m).get(ParamId::kStream) != 0;
  };
  EXPECT_FALSE(streams("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", kZen4Machine));
  EXPECT_TRUE(streams("f32 (1024,1024)", "f32 (1024,1024):(1,1024)", kZen4Machine)) << "4 MiB, a quarter of 16";
  EXPECT_FALSE(streams("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", {}));
  CpuMachine leaves;
  leaves.columns_stay = false;
  EXPECT_TRUE(streams("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", leaves));
  EXPECT_FALSE(streams("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", kZen5Machine));
  // Tiles leave as before: what they write would meet in the caches.
  EXPECT_TRUE(streams("u8 (512,4096)", "u8 (512,4096):(1,512)", kZen5Machine));
  // Without permutes all but the last byte of that share stays.
  CpuMachine no_permutes = kZen3Machine;
  no_permutes.least_shuffled_unit = 32;
  EXPECT_FALSE(streams("f32 (1024,1024)", "f32 (1024,1024):(1,1024)", no_permutes));
}

TEST(InCaches, BlocksOfVectorsHaveAMachinesOwnPriceInTheSecondCache) {
  CpuMachine halved = kZen4Machine;
  halved.cached_small_blocks = halved.cached_blocks = 0.5;
  const auto cheaper = [&](const char* dst, const char* src, const char* kernel) {
    const auto ns = [&](const CpuMachine& m) { return decide(dst, src, kernel, m).chosen.predicted.time_ns; };
    return ns(halved) / ns(kZen4Machine);
  };
  for (const char* kernel : {"buffered/blocks", "tile/matrices"}) {
    EXPECT_DOUBLE_EQ(cheaper("f32 (200,304)", "f32 (200,304):(1,200)", kernel), 0.5) << kernel;
    EXPECT_DOUBLE_EQ(cheaper("u8 (200,304)", "u8 (200,304):(1,200)", kernel), 0.5) << kernel;
    EXPECT_DOUBLE_EQ(cheaper("f32 (600,608)", "f32 (600,608):(1,600)", kernel), 1) << kernel << ", past it";
  }
  for (const char* kernel : {"tile/units", "packed/staged", "gather/units"})
    EXPECT_DOUBLE_EQ(cheaper("f32 (200,304)", "f32 (200,304):(1,200)", kernel), 1) << kernel;
}

}  // namespace
}  // namespace restride::cpu
