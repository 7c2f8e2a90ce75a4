#include "src/kernels/cpu/packed.h"

#include "tests/kernels/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::expect_exact;
using test::kStreamed;

TEST(Packed, TakesPixelsApartAndPutsThemTogether) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    expect_exact("packed", d + " (2,3,1000)", d + " (2,3,1000):(3000,1,3)");
    expect_exact("packed", d + " (2,3,1000)", d + " (2,3,1000):(3000,1,3)", kStreamed);
    expect_exact("packed", d + " (2,1000,3)", d + " (2,1000,3):(3000,1,1000)", kStreamed);
  }
}

TEST(Packed, CutsBlocksShortAtTheEnds) {
  for (const std::int64_t run : {32, 64, 256})
    expect_exact("packed", "f32 (5,1237)", "f32 (5,1237):(1,5)", {{ParamId::kStream, 1}, {ParamId::kRunBytes, run}});
  expect_exact("packed", "u8 (131,257)", "u8 (131,257):(1,131)", {{ParamId::kStream, 1}, {ParamId::kRunBytes, 32}});
}

TEST(Packed, TransposesManySmallMatrices) {
  for (const char* src : {"f32 (100,6,6):(36,1,6)", "f32 (100,6,6):(40,1,6)"})
    expect_exact("packed", "f32 (100,6,6)", src, kStreamed);
  expect_exact("packed", "f16 (100,12,20)", "f16 (100,12,20):(240,1,12)", kStreamed);
  expect_exact("packed", "u8 (100,3,5)", "u8 (100,3,5):(15,1,3)", kStreamed);
}

TEST(Packed, LeavesGapsOfTheDestinationAlone) {
  expect_exact("packed", "f32 (3,100):(117,1)", "f32 (3,100):(1,3)", kStreamed);
  expect_exact("packed", "u8 (40,3,7):(29,8,1)", "u8 (40,3,7):(21,1,3)", kStreamed);
}

TEST(Packed, PermutesBits) {
  expect_exact("packed", "c64 (2,2,2,2,2,2,2,2,2,2)", "c64 (2,2,2,2,2,2,2,2,2,2):(4,64,1,512,16,2,128,8,256,32)",
               kStreamed);
  expect_exact("packed", "u8 (2,2,2,2,2,2,2,2,2,2)", "u8 (2,2,2,2,2,2,2,2,2,2):(4,64,1,512,16,2,128,8,256,32)",
               kStreamed);
}

TEST(Packed, ConvertsOnTheWayIn) {
  expect_exact("packed", "f32 (3,1000)", "u8 (3,1000):(1,3)", kStreamed);
  expect_exact("packed", "u8 (1000,3)", "f32 (1000,3):(1,1000)", kStreamed);
}

TEST(Packed, SplitsItsTasksOverThreads) {
  expect_exact("packed", "f32 (3,9999)", "f32 (3,9999):(1,3)", {{ParamId::kStream, 1}, {ParamId::kRunBytes, 64}}, 13,
               3);
}

}  // namespace
}  // namespace restride
