// Which of tile's kernels the CUDA planner chooses, and that explain can show why not the other.
#include <gtest/gtest.h>

#include "src/cuda/planner.h"
#include "src/cuda/tile/tiles.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;

/// The bid or refusal of a kernel.
const plan::Candidate* bid_of(const plan::Decision& decision, std::string_view kernel) {
  if (decision.chosen.kernel.text == kernel) return &decision.chosen;
  for (const plan::Candidate& k : decision.others)
    if (k.kernel.text == kernel) return &k;
  return nullptr;
}
const plan::Candidate* bulk_of(const plan::Decision& decision) { return bid_of(decision, "tile/bulk"); }

TEST(CudaTilePlan, LargeTransposesGoByOrdinaryLoadsAndBulkTensorCopiesBidCloseBehind) {
  for (const char* dtype : {"u8", "f16", "f32", "f64"}) {
    const plan::Decision decision = cuda::plan_cuda(
        canonical(std::string(dtype) + " (8192,4096)", std::string(dtype) + " (8192,4096):(1,8192)"), {});
    EXPECT_EQ(decision.chosen.kernel.family, plan::Family::kTile);
    EXPECT_EQ(decision.chosen.kernel.text, dtype == std::string("u8") ? "tile/aligned" : "tile/chains") << dtype;
    const plan::Candidate* bulk = bulk_of(decision);
    ASSERT_NE(bulk, nullptr);
    EXPECT_TRUE(bulk->applies);
    EXPECT_LT(bulk->predicted.time_ns, bid_of(decision, "tile/aligned")->predicted.time_ns * 1.05);
  }
}

TEST(CudaTilePlan, OfAnH100GoByChains) {
  cuda::CudaMachine h100;
  h100.copy_bytes_per_ns = 2900;
  cuda::take_nearest_costs({}, &h100);
  const plan::Candidate chosen = cuda::plan_cuda(canonical("f32 (8192,4096)", "f32 (8192,4096):(1,8192)"), h100).chosen;
  EXPECT_EQ(chosen.kernel.text, "tile/chains");
  EXPECT_EQ(chosen.get(plan::ParamId::kKeep, -1), 0) << "its L2 is not asked to keep words of src";
}

TEST(CudaTilePlan, TransposesOfWholeWordsGoByPacked) {
  EXPECT_EQ(cuda::plan_cuda(canonical("c128 (8192,4096)", "c128 (8192,4096):(1,8192)"), {}).chosen.kernel.family,
            plan::Family::kPacked);
}

TEST(CudaTilePlan, TakesTheMeasuredFamilyForWholeWordsAndRowsOfOneLine) {
  // bench/results/cuda-nvidia-h200.json: a matrix of words that packed's tiles cut unevenly, and 128-byte rows.
  const auto family = [](const char* dst, const char* src) {
    const auto c = layout::canonicalize(parse_layout(dst), parse_layout(src), 128, 128, layout::UnitRule::kAligned);
    return name(cuda::plan_cuda(c, {}).chosen.kernel.family);
  };
  EXPECT_EQ(family("c128 (4096,4096)", "c128 (4096,4096):(1,4096)"), "tile");
  EXPECT_EQ(family("f64 (32,15,15,15,32,16)", "f64 (32,15,15,15,32,16):(16,245760,3686400,512,7680,1)"), "packed");
  EXPECT_EQ(family("f32 (28,48,28,48,32)", "f32 (28,48,28,48,32):(43008,32,1536,1204224,1)"), "rows");
}

TEST(CudaTilePlan, TurnedPixelsGoInTilesOfPixelsButSmallImagesAndHalvesOnWordsByPacked) {
  const auto kernel = [](const std::string& dst, const std::string& src) {
    const plan::Decision decision = cuda::plan_cuda(canonical(dst, src), {});
    return decision.chosen.kernel.text;
  };
  EXPECT_EQ(kernel("u8 (64,1920,1080,3)", "u8 (64,1920,1080,3):(6220800,-3,5760,1)@5757"), "tile/pixels");
  EXPECT_EQ(kernel("u8 (141,641,479,3)", "u8 (141,641,479,3):(921117,3,1923,-1)@2"), "tile/pixels");
  EXPECT_EQ(kernel("f16 (27,1023,767,3)", "f16 (27,1023,767,3):(2353923,3,3069,1)"), "tile/pixels");
  EXPECT_FALSE(kernel("f16 (431,224,224,3)", "f16 (431,224,224,3):(150528,3,672,1)").starts_with("tile/"));
  EXPECT_FALSE(kernel("u8 (31063,31,45,3)", "u8 (31063,31,45,3):(4185,3,93,1)").starts_with("tile/"));
}

TEST(CudaTilePlan, OlderGpusHaveNoBulkCopies) {
  cuda::CudaMachine older;
  older.cc_major = 8;
  const plan::Decision decision = cuda::plan_cuda(canonical("f32 (8192,4096)", "f32 (8192,4096):(1,8192)"), older);
  EXPECT_EQ(decision.chosen.kernel.text, "tile/chains");
  ASSERT_NE(bulk_of(decision), nullptr);
  EXPECT_EQ(bulk_of(decision)->reason, "bulk tensor copies need sm_90");
}

TEST(CudaTilePlan, GpusThatRunCodeWithoutBulkCopiesLoadAsEver) {
  cuda::CudaMachine machine;  // an H200 and a build for sm_80
  machine.bulk_copies = false;
  for (const auto& [dst, src] : {std::pair("f32 (8192,4096)", "f32 (8192,4096):(1,8192)"),
                                 std::pair("f32 (4096,4096)", "u8 (4096,4096):(1,4096)")}) {
    const plan::Decision decision = cuda::plan_cuda(canonical(dst, src), machine);
    EXPECT_NE(decision.chosen.kernel.text, "tile/bulk");
    for (const plan::Candidate& k : decision.others) EXPECT_FALSE(k.applies && k.kernel.text == "tile/bulk");
    ASSERT_NE(bulk_of(decision), nullptr);
    EXPECT_NE(bulk_of(decision)->reason.find("compiled for sm_90"), std::string_view::npos);
  }
}

TEST(CudaTilePlan, ShortRowsOfSrcAreNotWorthWhatTheEngineFetches) {
  const plan::Decision decision =
      cuda::plan_cuda(canonical("f16 (12,75,96,608)", "f16 (12,75,96,608):(96,700416,1,1152)"), {});
  EXPECT_EQ(decision.chosen.kernel.family, plan::Family::kTile);
  EXPECT_NE(decision.chosen.kernel.text, "tile/bulk");
  ASSERT_NE(bulk_of(decision), nullptr);
  EXPECT_TRUE(bulk_of(decision)->applies);
}

TEST(CudaTilePlan, BulkCopiesOfRowsThatStartOffSectorsGetARingWithFewTilesUnderWay) {
  const plan::Candidate bulk = cuda_test::bid_of("tile/bulk", canonical("u8 (8192,16400)", "u8 (8192,16400):(1,8192)"));
  EXPECT_EQ(bulk.get(plan::ParamId::kStages), 2);
  EXPECT_EQ(bulk.get(plan::ParamId::kBlocks), cuda::CudaMachine{}.sm_count);
}

TEST(CudaTilePlan, BulkCopiesAreLeftOutWhereTheirDescriptorCannotSayTheSource) {
  const auto by_bulk = [](const std::string& dst, const std::string& src, std::size_t col_mode) {
    return cuda::tiles::by_bulk(canonical(dst, src), col_mode);
  };
  EXPECT_TRUE(by_bulk("f32 (7,512,1024)", "f32 (7,512,1024):(524288,1,512)", 1));
  EXPECT_FALSE(by_bulk("f32 (7,512,1024)", "f32 (7,512,1024):(0,1,512)", 1)) << "a repeated mode has no stride";
  EXPECT_TRUE(by_bulk("u8 (2147483632,64)", "u8 (2147483632,64):(1,2147483632)", 1));
  EXPECT_FALSE(by_bulk("u8 (2147483648,64)", "u8 (2147483648,64):(1,2147483648)", 1)) << "an extent of 31 bits";
}

TEST(CudaTilePlan, ShortRowsOfSrcGetTilesThatTheyFill) {
  const plan::Candidate loads =
      cuda_test::bid_of("tile/aligned", canonical("f32 (4000,32,1000)", "f32 (4000,32,1000):(32000,1,32)"));
  EXPECT_EQ(loads.get(plan::ParamId::kTileCols), 32);
}

TEST(CudaTilePlan, ChainsThatStartAnywhereGoAlongSrcWhereTheTileBesideWouldComeLate) {
  const auto order = [](const char* dst, const char* src) {
    const plan::Candidate bid = cuda_test::bid_of("tile/unaligned_chains", canonical(dst, src));
    EXPECT_TRUE(bid.applies) << bid.reason;
    return static_cast<plan::TileOrder>(bid.get(plan::ParamId::kOrder, -1));
  };
  EXPECT_EQ(order("c64 (229,229,229)", "c64 (229,229,229):(1,229,52441)"), plan::TileOrder::kSrc);
  EXPECT_EQ(order("c64 (2290,22,229)", "c64 (2290,22,229):(1,2290,50380)"), plan::TileOrder::kDst)
      << "few tiles lie between";
  EXPECT_EQ(order("f32 (41,1013,997)", "f32 (41,1013,997):(1,41,41533)"), plan::TileOrder::kSrc);
}

TEST(CudaTilePlan, LongRowsOfDstThatStartAnywhereAreCutIntoLines) {
  const auto bytes = [](const char* dst, const char* src, std::int64_t unit) {
    const plan::Candidate bid = cuda_test::bid_of("tile/unaligned_chains", canonical(dst, src));
    EXPECT_TRUE(bid.applies) << bid.reason;
    return bid.get(plan::ParamId::kTileRows, -1) * unit;
  };
  EXPECT_EQ(bytes("f16 (103,15,19417)", "f16 (103,15,19417):(1,1999951,103)", 2) % 128, 0);
  EXPECT_EQ(bytes("f32 (121,859,121)", "f32 (121,859,121):(1,14641,121)", 4) % 128, 0);
  EXPECT_EQ(bytes("f64 (91,45,129,27)", "f64 (91,45,129,27):(1,316953,91,11739)", 8) % 128, 0);
}

TEST(CudaTilePlan, WideningCastsGoByBulkTensorCopiesAndNarrowingOnesDoNot) {
  EXPECT_EQ(cuda::plan_cuda(canonical("f32 (8192,4096)", "f16 (8192,4096):(1,8192)"), {}).chosen.kernel.text,
            "tile/bulk");
  EXPECT_EQ(cuda::plan_cuda(canonical("f16 (8192,4096)", "f32 (8192,4096):(1,8192)"), {}).chosen.kernel.text,
            "tile/aligned");
}

TEST(CudaTilePlan, EveryPairOfRealDtypesIsConvertedInATile) {
  for (const char* to : {"u8", "f16", "i32", "f64", "bool", "f8e4m3"})
    for (const char* from : {"i8", "bf16", "f32", "i64", "f8e5m2", "u16"})
      EXPECT_EQ(cuda::plan_cuda(canonical(std::string(to) + " (512,700)", std::string(from) + " (512,700):(1,512)"), {})
                    .chosen.kernel.family,
                plan::Family::kTile)
          << from << " to " << to;
}

}  // namespace
}  // namespace restride
