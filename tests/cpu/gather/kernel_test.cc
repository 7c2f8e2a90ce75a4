#include "src/cpu/gather/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;

TEST(Gather, MovesEveryUnitSize) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128", "b3", "b12", "b48"}) {
    const std::string d(dtype);
    expect_exact("gather/units", d + " (7,11)", d + " (7,11):(1,7)");
    expect_exact("gather/units", d + " (7,11):(12,1)", d + " (7,11):(-1,-7)@76");
    expect_exact("gather/units", d + " (7,11)", d + " (7,11):(0,0)");
  }
}

TEST(Gather, WalksEachSideByItselfWhereShapesHaveNoCommonRefinement) {
  expect_exact("gather/units", "f32 (14,15):(16,1)", "f32 (15,14):(17,1)");
  expect_exact("gather/units", "f32 (14,15):(-16,1)@208", "f32 (15,14):(17,-1)@13", {}, 13, 3);
  expect_exact("gather/units", "b12 (14,15):(16,1)", "b12 (15,14):(17,1)");
  expect_exact("gather/units", "f64 (14,15):(16,1)", "f16 (15,14):(17,1)");
}

TEST(Gather, TakesTenModesAndRankZero) {
  expect_exact("gather/units", "u8 (2,2,2,2,2,2,2,2,2,2)", "u8 (2,2,2,2,2,2,2,2,2,2):(4,64,1,512,16,2,128,8,256,32)");
  expect_exact("gather/units", "f32 ()", "f32 ()");
  expect_exact("gather/units", "f32 ()", "i8 ()");
}

}  // namespace
}  // namespace restride
