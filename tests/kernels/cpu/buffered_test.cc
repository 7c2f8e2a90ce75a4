#include "src/kernels/cpu/buffered.h"

#include "tests/kernels/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::expect_exact;
using test::kStreamed;

const char* const kDTypes[] = {"u8", "f16", "f32", "f64", "c128"};

TEST(Buffered, TransposesBatchesOfOddMatrices) {
  for (const std::string d : kDTypes) {
    expect_exact("buffered", d + " (5,77,129)", d + " (5,77,129):(9933,1,77)");
    expect_exact("buffered", d + " (5,77,129)", d + " (5,77,129):(9933,1,77)", kStreamed);
    expect_exact("buffered", d + " (3,33,65):(3000,65,1)", d + " (3,33,65):(2145,1,33)", kStreamed);
  }
}

TEST(Buffered, TransposesAsFewAsTwoRowsOrColumns) {
  for (const std::string d : kDTypes) {
    expect_exact("buffered", d + " (4,2,100)", d + " (4,2,100):(200,1,2)", kStreamed);
    expect_exact("buffered", d + " (4,100,2)", d + " (4,100,2):(200,1,100)", kStreamed);
    expect_exact("buffered", d + " (4,3,2)", d + " (4,3,2):(6,1,3)", kStreamed);
  }
}

TEST(Buffered, CutsItsLastModeIntoBlocks) {
  for (const std::int64_t units : {7 * 40, 33 * 40, 99 * 40, 100 * 40})
    expect_exact("buffered", "f32 (3,100,40)", "f32 (3,100,40):(4000,1,100)",
                 {{ParamId::kStream, 1}, {ParamId::kBlockUnits, units}}, 13, 2);
}

TEST(Buffered, TakesModesBetweenRowsAndColumnsIntoTheBlock) {
  for (const std::string d : kDTypes) {
    // The columns are the outermost mode; the one between is in the block, but in neither set.
    expect_exact("buffered", d + " (40,3,20)", d + " (40,3,20):(1,1000,45)", kStreamed);
    // Source runs of 6 bytes and more, grown by a mode that is not the next in dst.
    expect_exact("buffered", d + " (6,5,7,18)", d + " (6,5,7,18):(1,210,6,42)", kStreamed);
  }
}

TEST(Buffered, ReadsRowsThatRunBackwards) {
  expect_exact("buffered", "f16 (5,40,50)", "f16 (5,40,50):(2000,1,-40)@1960", kStreamed);
}

TEST(Buffered, ConvertsOnTheWayIn) {
  expect_exact("buffered", "f32 (5,77,29)", "u8 (5,77,29):(2233,1,77)", kStreamed);
  expect_exact("buffered", "f16 (5,77,29)", "f64 (5,77,29):(2233,1,77)", kStreamed);
}

TEST(Buffered, SharesBlocksAmongThreads) {
  expect_exact("buffered", "u8 (9,77,129)", "u8 (9,77,129):(9933,1,77)", kStreamed, 13, 4);
}

TEST(Buffered, RefusesABlockThatDstHasGapsIn) {
  Options options;
  options.family = "buffered";
  EXPECT_THROW(Plan(parse_layout("f32 (5,40,50):(2050,51,1)"), parse_layout("f32 (5,40,50):(2000,1,40)"), options),
               ArgumentError);
}

}  // namespace
}  // namespace restride
