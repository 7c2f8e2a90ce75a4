#include "src/cpu/buffered/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::Edits;
using test::expect_exact;
using test::kStreamed;

const char* const kDTypes[] = {"u8", "f16", "f32", "f64", "c128"};

TEST(Buffered, TransposesBatchesOfOddMatrices) {
  for (const std::string d : kDTypes) {
    expect_exact("buffered/blocks", d + " (5,77,129)", d + " (5,77,129):(9933,1,77)");
    expect_exact("buffered/blocks", d + " (5,77,129)", d + " (5,77,129):(9933,1,77)", kStreamed);
    expect_exact("buffered/blocks", d + " (3,33,65):(3000,65,1)", d + " (3,33,65):(2145,1,33)", kStreamed);
  }
}

TEST(Buffered, TransposesAsFewAsTwoRowsOrColumns) {
  for (const std::string d : kDTypes) {
    expect_exact("buffered/blocks", d + " (4,2,100)", d + " (4,2,100):(200,1,2)", kStreamed);
    expect_exact("buffered/blocks", d + " (4,100,2)", d + " (4,100,2):(200,1,100)", kStreamed);
    expect_exact("buffered/blocks", d + " (4,3,2)", d + " (4,3,2):(6,1,3)", kStreamed);
  }
}

TEST(Buffered, CutsTheLastModesOfBothRunsIntoBlocks) {
  for (const std::string d : kDTypes)
    for (const std::int64_t run : {24, 70, 300})
      for (const std::int64_t read : {24, 90, 250})
        for (const std::int64_t stream : {0, 1})
          expect_exact("buffered/blocks", d + " (3,53,47)", d + " (3,53,47):(2491,1,53)",
                       {{ParamId::kStream, stream}, {ParamId::kRunBytes, run}, {ParamId::kReadBytes, read}}, 13, 2);
}

TEST(Buffered, PermutesManyShortModes) {
  for (const std::string d : kDTypes)
    for (const std::int64_t read : {24, 64, 150, 1000})
      for (const std::int64_t stream : {0, 1}) {
        const Edits edits = {{ParamId::kStream, stream}, {ParamId::kRunBytes, 100}, {ParamId::kReadBytes, read}};
        expect_exact("buffered/blocks", d + " (5,4,7,6,3,11)", d + " (5,4,7,6,3,11):(1,1386,15,105,5,630)", edits, 13,
                     2);
        expect_exact("buffered/blocks", d + " (9,4,21,5,2)", d + " (9,4,21,5,2):(1,9,360,36,180)", edits);
        expect_exact("buffered/blocks", d + " (13,3,8,19)", d + " (13,3,8,19):(3,1,741,39)", edits);
      }
}

TEST(Buffered, GoesDownColumnsBandByBand) {
  for (const std::string d : kDTypes)
    for (const std::int64_t band : {16, 17, 31, 64})
      for (const std::int64_t stream : {0, 1}) {
        const Edits edits = {{ParamId::kStream, stream}, {ParamId::kBandCols, band}};
        expect_exact("buffered/blocks", d + " (3,153,47)", d + " (3,153,47):(7191,1,153)", edits, 13, 2);
        expect_exact("buffered/blocks", d + " (5,4,7,6,3,11)", d + " (5,4,7,6,3,11):(1,1386,15,105,5,630)", edits);
        expect_exact("buffered/blocks", d + " (3,33,65):(3000,65,1)", d + " (3,33,65):(2145,1,33)", edits);
      }
}

TEST(Buffered, LeavesByAnyNumberOfBytes) {
  for (const std::int64_t bytes : {1, 500, 3072, 128 << 10})
    for (const std::string d : kDTypes)
      expect_exact("buffered/blocks", d + " (3,53,47)", d + " (3,53,47):(2491,1,53)",
                   {{ParamId::kStream, 1}, {ParamId::kRunBytes, 300}, {ParamId::kWriteBytes, bytes}}, 13, 2);
}

TEST(Buffered, PadsColumnsThatEndInsideLines) {
  const auto expect_padded = [](const std::string& dst, const std::string& src, std::int64_t run, std::int64_t read,
                                std::int64_t write) {
    expect_exact("buffered/blocks", dst, src,
                 {{ParamId::kStream, 1},
                  {ParamId::kPadded, 1},
                  {ParamId::kRunBytes, run},
                  {ParamId::kReadBytes, read},
                  {ParamId::kWriteBytes, write}},
                 13, 2);
  };
  for (const std::string d : kDTypes)
    for (const std::int64_t write : {1, 100, 3072}) {
      // Runs of whole columns, which go on from block to block; the last block of each is cut.
      expect_padded(d + " (3,53,111)", d + " (3,53,111):(5883,1,53)", 4096, 64, write);
      // Columns of two modes, of which the second is cut: the last ones are shorter than a line.
      expect_padded(d + " (9,4,21,5,2)", d + " (9,4,21,5,2):(1,9,360,36,180)", 100, 24, write);
      // Columns that lie apart in dst.
      expect_padded(d + " (5,40,50):(2050,51,1)", d + " (5,40,50):(2000,1,40)", 200, 64, write);
    }
  // By way of a stage: a cast, and rows that meet in the caches.
  expect_padded("f32 (5,77,29)", "u8 (5,77,29):(2233,1,77)", 4096, 64, 3072);
  expect_padded("f64 (48,70)", "f64 (48,70):(1,8192)", 4096, 64, 3072);
}

TEST(Buffered, WalksLongModesInStepsThatDoNotDivideThem) {
  const Edits edits = {{ParamId::kStream, 1}, {ParamId::kRunBytes, 64}, {ParamId::kReadBytes, 64}};
  expect_exact("buffered/blocks", "f32 (2,331,337)", "f32 (2,331,337):(111547,1,331)", edits, 13, 2);
  expect_exact("buffered/blocks", "u8 (23,211,19,61)", "u8 (23,211,19,61):(1,23,295907,4853)", edits, 13, 3);
}

TEST(Buffered, StagesRowsThatMeetInTheCache) {
  expect_exact("buffered/blocks", "u8 (48,70)", "u8 (48,70):(1,4096)", kStreamed);
  expect_exact("buffered/blocks", "f64 (48,70)", "f64 (48,70):(1,8192)", kStreamed);
}

TEST(Buffered, LeavesGapsInDstAlone) {
  for (const std::string d : kDTypes) {
    expect_exact("buffered/blocks", d + " (5,40,50):(2050,51,1)", d + " (5,40,50):(2000,1,40)", kStreamed);
    expect_exact("buffered/blocks", d + " (7,3,5):(21,7,1)", d + " (7,3,5):(1,7,21)", kStreamed);
  }
}

TEST(Buffered, TakesModesBetweenRowsAndColumnsIntoTheBlock) {
  for (const std::string d : kDTypes) {
    // The columns are the outermost mode; the one between is in the block, but in neither set.
    expect_exact("buffered/blocks", d + " (40,3,20)", d + " (40,3,20):(1,1000,45)", kStreamed);
    // Source runs of 6 bytes and more, grown by a mode that is not the next in dst.
    expect_exact("buffered/blocks", d + " (6,5,7,18)", d + " (6,5,7,18):(1,210,6,42)", kStreamed);
  }
}

TEST(Buffered, ReadsRowsThatRunBackwards) {
  expect_exact("buffered/blocks", "f16 (5,40,50)", "f16 (5,40,50):(2000,1,-40)@1960", kStreamed);
}

TEST(Buffered, ConvertsOnTheWayIn) {
  expect_exact("buffered/blocks", "f32 (5,77,29)", "u8 (5,77,29):(2233,1,77)", kStreamed);
  expect_exact("buffered/blocks", "f16 (5,77,29)", "f64 (5,77,29):(2233,1,77)", kStreamed);
}

TEST(Buffered, SharesBlocksAmongThreads) {
  expect_exact("buffered/blocks", "u8 (9,77,129)", "u8 (9,77,129):(9933,1,77)", kStreamed, 13, 4);
}

TEST(Buffered, RefusesASourceWithoutADenseMode) {
  Options options;
  options.family = "buffered";
  EXPECT_THROW(Plan(parse_layout("f32 (40,50)"), parse_layout("f32 (40,50):(2,80)"), options), ArgumentError);
}

}  // namespace
}  // namespace restride
