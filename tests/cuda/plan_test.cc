// Plans for a GPU on machines that have none: a model stands in, and says so.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <restride/restride.hpp>

#include "tests/support/throws.h"

namespace restride {
namespace {

Options model() {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  return options;
}

TEST(CudaPlan, IsMadeForAModelWithoutAGpu) {
  const Plan plan(contiguous(DType::kF32, {4096, 4096}), permute(contiguous(DType::kF32, {4096, 4096}), {1, 0}),
                  model());
  EXPECT_EQ(plan.device(), DeviceKind::kCuda);
  EXPECT_EQ(plan.cuda_device(), kModelDevice);
  EXPECT_EQ(plan.family(), "tile");
  EXPECT_NE(plan.explain().find("planned for a model of an H200"), std::string::npos) << plan.explain();
}

/// Where rows, tiles or batches took 1.5 to 8 times as long as packed/staged, measured on an H200.
TEST(CudaPlan, LeavesRowsAndTilesToPackedWhereTheyAreMuchSlower) {
  struct Case {
    const char *src, *dst;
  };
  for (const Case& c : {
           Case{"u8 (2695927,10,3):(30,1,10)", "u8 (2695927,10,3)"},                                   // batches
           Case{"f64 (57,90,122,3,4,3):(12,684,61560,7510320,1,4)", "f64 (57,90,122,3,4,3)"},          // small ones
           Case{"f32 (17,21,27,55,75):(2025,1893375,75,34425,1)", "f32 (17,21,27,55,75)"},             // rows/words
           Case{"u8 (5,128,64,8,262):(134144,670720,262,16768,1)", "u8 (5,128,64,8,262)"},             // bytes of it
           Case{"f16 (13,19,15,13,123,15):(15,2535,48165,195,722475,1)", "f16 (13,19,15,13,123,15)"},  // rows/pixels
           Case{"u8 (78,11,20,32,70):(1400,3494400,70,109200,1)", "f16 (78,11,20,32,70)"},             // rows/cast
           Case{"u8 (29,39,319,101):(12441,319,1,360789)", "f16 (29,39,319,101)"},                     // tile
       })
    EXPECT_EQ(Plan(parse_layout(c.dst), parse_layout(c.src), model(), 64, 64).kernel(), "packed/staged") << c.src;
}

TEST(CudaPlan, OfAModelRefusesToRun) {
  std::vector<float> memory(8);
  const Plan plan(contiguous(DType::kF32, {2, 2}), permute(contiguous(DType::kF32, {2, 2}), {1, 0}), model());
  EXPECT_NE(plan.run(memory.data(), memory.data() + 4), 0);
}

TEST(CudaPlan, SerialisesAndComesBack) {
  const Plan plan(contiguous(DType::kF16, {300, 200}), permute(contiguous(DType::kF16, {200, 300}), {1, 0}), model());
  const Plan again = Plan::deserialize(plan.serialize());
  EXPECT_EQ(again.serialize(), plan.serialize());
  EXPECT_EQ(again.explain().substr(0, 200), plan.explain().substr(0, 200));
}

TEST(CudaPlan, ComesBackOnlyWithParametersThatThePlannerOffers) {
  const Plan plan(contiguous(DType::kF16, {300, 200}), permute(contiguous(DType::kF16, {200, 300}), {1, 0}), model());
  ASSERT_EQ(plan.family(), "tile");
  const std::string text = plan.serialize();
  for (const std::string key : {"tile_rows", "tile_cols", "row_mode", "col_mode", "vector_bytes"})
    for (const char* bad : {"0", "-1", "7", "1048576", "9223372036854775807"}) {
      const std::size_t at = text.find(key + "\":");
      ASSERT_NE(at, std::string::npos) << key << " in " << text;
      const std::size_t from = at + key.size() + 2;
      const std::size_t to = text.find_first_of(",}", from);
      if (text.substr(from, to - from) == bad) continue;
      const std::string edited = text.substr(0, from) + bad + text.substr(to);
      EXPECT_THROW(Plan::deserialize(edited), ParseError) << edited;
    }
}

TEST(CudaPlan, SaysWhyAForcedFamilyIsRefusedAndWhatToDo) {
  const auto message = [](const char* family) {
    Options options;
    options.device = DeviceKind::kCuda;
    options.cuda_device = kModelDevice;
    options.family = family;
    return test::message_of<ArgumentError>(
        [&] { Plan(parse_layout("f32 (64,96)"), parse_layout("f32 (64,96):(1,64)"), options); });
  };
  EXPECT_TRUE(test::holds(message("run"), "family 'run' does not apply", "leave the choice to the planner"));
  EXPECT_TRUE(test::holds(message("buffered"), "'buffered'", "use one of run, rows, tile, packed, gather"));
}

TEST(CudaPlan, IsTheSameEachTime) {
  const Layout dst = contiguous(DType::kU8, {3, 1080, 1920});
  const Layout src = permute(contiguous(DType::kU8, {1080, 1920, 3}), {2, 0, 1});
  EXPECT_EQ(Plan(dst, src, model()).explain(), Plan(dst, src, model()).explain());
}

TEST(CudaPlan, WithoutAGpuSaysWhyAndWhatToDo) {
  if (!cuda_status().devices.empty()) GTEST_SKIP() << "this machine has a GPU";
  Options options;
  options.device = DeviceKind::kCuda;
  try {
    const Plan plan(contiguous(DType::kF32, {4}), contiguous(DType::kF32, {4}), options);
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_EQ(std::string(e.what()).find("no GPU: "), 0u) << e.what();
  }
}

TEST(CudaPlan, HostMemoryIsRefusedWhenAGpuIsAskedFor) {
  std::vector<float> src(4), dst(4);
  Options options;
  options.device = DeviceKind::kCuda;
  EXPECT_THROW(copy(Tensor{dst.data(), contiguous(DType::kF32, {4})},
                    ConstTensor{src.data(), contiguous(DType::kF32, {4})}, options),
               DeviceError);
}

}  // namespace
}  // namespace restride
