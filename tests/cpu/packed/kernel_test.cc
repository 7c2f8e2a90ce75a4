#include "src/cpu/packed/kernel.h"

#include <fmt/format.h>

#include <utility>

#include "tests/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::expect_exact;
using test::kStreamed;
using test::kStreamedNear;

TEST(Packed, TakesPixelsApartAndPutsThemTogether) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    expect_exact("packed/staged", d + " (2,3,1000)", d + " (2,3,1000):(3000,1,3)");
    expect_exact("packed/staged", d + " (2,3,1000)", d + " (2,3,1000):(3000,1,3)", kStreamed);
    expect_exact("packed/staged", d + " (2,1000,3)", d + " (2,1000,3):(3000,1,1000)", kStreamed);
  }
}

TEST(Packed, TakesRecordsOfAnyNumberOfMembersApart) {
  for (const char* dtype : {"u8", "f16", "f32", "f64"})
    for (const char* members : {"2", "5", "7", "8", "11"}) {
      const std::string d(dtype);
      const std::string k(members);
      expect_exact("packed/staged", d + " (" + k + ",1237)", d + " (" + k + ",1237):(1," + k + ")", kStreamed);
      expect_exact("packed/staged", d + " (1237," + k + ")", d + " (1237," + k + "):(1,1237)", kStreamed);
    }
}

TEST(Packed, CutsBlocksShortAtTheEnds) {
  for (const std::int64_t run : {32, 64, 256})
    expect_exact("packed/staged", "f32 (5,1237)", "f32 (5,1237):(1,5)",
                 {{ParamId::kStream, 1}, {ParamId::kRunBytes, run}});
  expect_exact("packed/staged", "u8 (131,257)", "u8 (131,257):(1,131)",
               {{ParamId::kStream, 1}, {ParamId::kRunBytes, 32}});
}

TEST(Packed, TransposesManySmallMatrices) {
  for (const char* src : {"f32 (100,6,6):(36,1,6)", "f32 (100,6,6):(40,1,6)"})
    expect_exact("packed/staged", "f32 (100,6,6)", src, kStreamed);
  // Some are transposed a plane at a time, some put together by shuffles, as the width and the sides have it.
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const auto& [rows, cols] : {std::pair{3, 5}, {12, 20}, {17, 31}, {29, 13}, {4, 100}, {2, 30}, {33, 33}}) {
      const std::string dst = fmt::format("{} (100,{},{})", dtype, rows, cols);
      expect_exact("packed/staged", dst, fmt::format("{}:({},1,{})", dst, rows * cols, rows), kStreamed);
      expect_exact("packed/staged", dst, fmt::format("{}:({},1,{})", dst, rows * cols, rows));
    }
}

/// Rows are read in groups, as many as a vector or two hold, and columns set end to end: every size has its own way.
TEST(Packed, TransposesMatricesOfEverySize) {
  for (const char* dtype : {"u8", "f16", "f32", "f64"})
    for (const int rows : {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 18, 19, 21, 24, 25, 31, 32, 33, 40, 64, 70, 129})
      for (const int cols : {2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 18, 20, 22, 25, 29, 32, 33, 37, 49}) {
        const std::string dst = fmt::format("{} (9,{},{})", dtype, cols, rows);
        const std::string src = fmt::format("{}:({},1,{})", dst, rows * cols, cols);
        const std::int64_t offset = (rows * 7 + cols) % 64;
        expect_exact("packed/staged", dst, src, kStreamedNear, offset);
        if ((rows + cols) % 3 == 0) expect_exact("packed/staged", dst, src, {}, offset);
      }
}

TEST(Packed, TransposesMatricesWhosePitchIsNoneOfWholeUnits) {
  for (const char* dtype : {"f16", "f32", "f64"}) {
    const std::string d(dtype);
    expect_exact("packed/staged", d + " (50,7,5)", d + " (50,7,5):(331,8,47)b", kStreamedNear);
    expect_exact("packed/staged", d + " (50,9,13)", d + " (50,9,13):(1001,8,75)b@1", kStreamed);
  }
}

TEST(Packed, TransposesPlanesThatOtherModesLieBetween) {
  for (const char* dtype : {"u8", "f16", "f32", "f64"}) {
    const std::string d(dtype);
    expect_exact("packed/staged", d + " (30,12,4,20)", d + " (30,12,4,20):(960,1,240,12)", kStreamed);
    expect_exact("packed/staged", d + " (30,9,4,13)", d + " (30,9,4,13):(468,1,9,36)", kStreamed);
    expect_exact("packed/staged", d + " (30,5,12,20)", d + " (30,5,12,20):(1200,240,1,12)", kStreamed);
  }
}

TEST(Packed, LeavesGapsOfTheDestinationAlone) {
  expect_exact("packed/staged", "f32 (3,100):(117,1)", "f32 (3,100):(1,3)", kStreamed);
  expect_exact("packed/staged", "u8 (40,3,7):(29,8,1)", "u8 (40,3,7):(21,1,3)", kStreamed);
}

TEST(Packed, LeavesOutWhatLiesBetweenPixelsOfTheSource) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    expect_exact("packed/staged", d + " (5,700,3)", d + " (5,700,3):(2800,4,1)", kStreamed);
    expect_exact("packed/staged", d + " (5,700,3)", d + " (5,700,3):(2803,4,-1)@2", kStreamed);
    expect_exact("packed/staged", d + " (3,5,700)", d + " (3,5,700):(1,2800,4)", kStreamed);
    expect_exact("packed/staged", d + " (5,700)", d + " (5,700):(1400,2)", kStreamed);
    expect_exact("packed/staged", d + " (5,700)", d + " (5,700):(1400,-2)@1398");
  }
  expect_exact("packed/staged", "u8 (3000)", "u8 (3000):(8)", kStreamed);
  expect_exact("packed/staged", "f32 (5,700,3)", "u8 (5,700,3):(2800,4,1)", kStreamed);
  expect_exact("packed/staged", "f32 (3,5,700)", "f16 (3,5,700):(1,2800,4)", kStreamed);
  expect_exact("packed/staged", "f16 (5,700)", "f64 (5,700):(1400,2)", kStreamed);
  // Pitches that are no whole units.
  expect_exact("packed/staged", "f32 (5,700,3)", "f32 (5,700,3):(9811,14,4)b@3", kStreamed);
}

TEST(Packed, PermutesBits) {
  expect_exact("packed/staged", "c64 (2,2,2,2,2,2,2,2,2,2)", "c64 (2,2,2,2,2,2,2,2,2,2):(4,64,1,512,16,2,128,8,256,32)",
               kStreamed);
  expect_exact("packed/staged", "u8 (2,2,2,2,2,2,2,2,2,2)", "u8 (2,2,2,2,2,2,2,2,2,2):(4,64,1,512,16,2,128,8,256,32)",
               kStreamed);
}

TEST(Packed, TurnsModesThatRunBackwards) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    // Channels swapped in place, apart, together; rows upside down; a long mode in blocks.
    expect_exact("packed/staged", d + " (5,700,3)", d + " (5,700,3):(2100,3,-1)@2", kStreamed);
    expect_exact("packed/staged", d + " (3,5,700)", d + " (3,5,700):(-1,2100,3)@2", kStreamed);
    expect_exact("packed/staged", d + " (700,3)", d + " (700,3):(1,-700)@1400", kStreamed);
    expect_exact("packed/staged", d + " (700,3)", d + " (700,3):(-1,700)@699", kStreamed);
    expect_exact("packed/staged", d + " (2,700,3)", d + " (2,700,3):(-2100,-3,-1)@4199", kStreamed);
    expect_exact("packed/staged", d + " (9,4,5,6)", d + " (9,4,5,6):(120,-1,-24,4)@99", kStreamed);
    expect_exact("packed/staged", d + " (9,4,5,6)", d + " (9,4,5,6):(120,30,-6,-1)@29", kStreamed);
  }
  expect_exact("packed/staged", "f32 (480,64,3)", "u8 (480,64,3):(192,3,-1)@2", kStreamed, 13, 3);
}

TEST(Packed, ConvertsOnTheWayIn) {
  expect_exact("packed/staged", "f32 (3,1000)", "u8 (3,1000):(1,3)", kStreamed);
  expect_exact("packed/staged", "u8 (1000,3)", "f32 (1000,3):(1,1000)", kStreamed);
}

TEST(Packed, SplitsItsTasksOverThreads) {
  expect_exact("packed/staged", "f32 (3,9999)", "f32 (3,9999):(1,3)", {{ParamId::kStream, 1}, {ParamId::kRunBytes, 64}},
               13, 3);
}

TEST(Packed, ReadsOneRunWhereItIs) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128", "b12"}) {
    const std::string d(dtype);
    expect_exact("packed/staged", d + " (5,2000)", d + " (5,2000):(1,5)", kStreamedNear, 13, 2);
    expect_exact("packed/staged", d + " (3,1001)", d + " (3,1001):(1,3)", kStreamedNear, 0);
    expect_exact("packed/staged", d + " (300,7,5)", d + " (300,7,5):(35,1,7)", kStreamedNear);
    expect_exact("packed/staged", d + " (40,17,31)", d + " (40,17,31):(527,1,17)", kStreamedNear, 13, 2);
    expect_exact("packed/staged", d + " (30,7,5)", d + " (30,7,5):(40,1,7)", kStreamedNear);  // gaps between runs
  }
  expect_exact("packed/staged", "f32 (3,1001)", "u8 (3,1001):(1,3)", kStreamedNear);
}

/// Columns of whole lines, and halves of lines, go from the registers to dst where that starts on a line.
TEST(Packed, LeavesColumnsOfWholeLinesAsTheyAreTransposed) {
  const auto batch = [](const std::string& dtype, int matrices, int rows, int cols) {
    const std::string shape = " (" + std::to_string(matrices) + "," + std::to_string(cols) + "," + std::to_string(rows);
    const std::string strides = "):(" + std::to_string(rows * cols) + ",1," + std::to_string(cols) + ")";
    expect_exact("packed/staged", dtype + shape + ")", dtype + shape + strides, kStreamed, 0);
    expect_exact("packed/staged", dtype + shape + ")", dtype + shape + strides, kStreamedNear, 32);
  };
  batch("f32", 41, 16, 16);
  batch("f32", 41, 8, 8);
  batch("f32", 33, 8, 9);
  batch("f32", 20, 32, 17);
  batch("f64", 37, 8, 8);
  batch("f64", 37, 4, 8);
  batch("f16", 37, 16, 16);
  batch("f16", 21, 32, 24);
  batch("u8", 37, 64, 16);
  batch("u8", 37, 32, 21);
}

TEST(Packed, RepeatsWithinVectorsStayInside) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const std::int64_t way : {0, 5}) {
      const std::string d(dtype);
      const test::Edits edits = {{ParamId::kStream, 0}, {ParamId::kWay, way}};
      for (const char* n : {"1", "2", "3", "7", "64", "1001"}) {
        const std::string b(n);
        expect_exact("packed/staged", d + " (" + b + ",2,2)", d + " (" + b + ",2,2):(4,1,2)", edits);
        expect_exact("packed/staged", d + " (" + b + ",3,3)", d + " (" + b + ",3,3):(9,1,3)", edits);
        expect_exact("packed/staged", d + " (" + b + ",2,2,2)", d + " (" + b + ",2,2,2):(8,1,2,4)", edits);
      }
      expect_exact("packed/staged", d + " (5,40,2,3):(251,6,3,1)", d + " (5,40,2,3):(243,6,1,2)", edits);  // gaps
      expect_exact("packed/staged", d + " (40,2,3)", d + " (40,2,3):(-6,1,2)@234", edits);
      expect_exact("packed/staged", d + " (3001,4,4)", d + " (3001,4,4):(16,1,4)", edits);
      expect_exact("packed/staged", d + " (9,8,8)", d + " (9,8,8):(64,1,8)", edits);
    }
}

TEST(Packed, StreamedRepeatsLeaveInPieces) {
  const test::Edits edits[] = {{{ParamId::kStream, 1}, {ParamId::kWay, 5}, {ParamId::kNear, 0}},
                               {{ParamId::kStream, 1}, {ParamId::kWay, 5}, {ParamId::kNear, 1}}};
  for (const test::Edits& edit : edits)
    for (const std::int64_t skew : {0, 13, 48})
      for (const int threads : {1, 2}) {
        const auto exact = [&](const char* dst, const char* src) {
          expect_exact("packed/staged", dst, src, edit, skew, threads);
        };
        exact("u8 (1,3,3)", "u8 (1,3,3):(9,1,3)");
        exact("u8 (9001,3,3)", "u8 (9001,3,3):(9,1,3)");
        exact("f16 (3001,11,4)", "f16 (3001,11,4):(44,1,11)");
        exact("f32 (401,7,7)", "f32 (401,7,7):(49,1,7)");
        exact("f64 (2003,5,5)", "f64 (2003,5,5):(25,1,5)");
        exact("c128 (901,3,5)", "c128 (901,3,5):(15,1,3)");
        exact("b3 (3001,5,7)", "b3 (3001,5,7):(35,1,5)");
        exact("b12 (801,3,7)", "b12 (801,3,7):(21,1,3)");
        exact("f64 (30,41,5,5)", "f64 (30,41,5,5):(3525,25,1,5)");  // tiles of two shapes, and gaps in src
        exact("u8 (30,41,12,12):(9000,144,12,1)", "u8 (30,41,12,12):(5904,144,1,12)");  // in dst
      }
}

TEST(Packed, RepeatsOfSeveralVectorsStayInside) {
  const test::Edits edits = {{ParamId::kStream, 0}, {ParamId::kWay, 5}};
  const auto batches = [&](const std::string& d, std::int64_t rows, std::int64_t cols) {
    for (const int n : {1, 2, 3, 61}) {
      const std::string batch = fmt::format("{} ({},{},{})", d, n, rows, cols);
      expect_exact("packed/staged", batch, fmt::format("{}:({},1,{})", batch, rows * cols, rows), edits);
    }
  };
  // A byte more than a vector holds, than two, three; as much as four hold, and more.
  for (const std::int64_t cols : {5, 8, 9, 13, 16, 17, 23, 26, 27, 31, 32, 33, 39, 51, 52, 64, 65}) {
    batches("u8", 5, cols);
    batches("u8", 4, cols);
    batches("u8", 3, cols);
  }
  for (const std::int64_t cols : {3, 5, 8, 9, 16, 17}) {
    batches("f16", 7, cols);
    batches("f32", 4, cols);
    batches("f64", 2, cols);
    batches("c128", 2, cols);
    batches("b3", 5, cols);
    batches("b12", 3, cols);
  }
  expect_exact("packed/staged", "f32 (20,3,4,5)", "f32 (20,3,4,5):(60,1,3,12)", edits);
  expect_exact("packed/staged", "f16 (20,2,3,4,5):(120,1,2,30,6)", "f16 (20,2,3,4,5)", edits);
}

TEST(Packed, TakesEachWayWhereItIsToldTo) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const std::int64_t way : {1, 2, 3, 4, 5})
      for (const std::int64_t stream : {0, 1}) {
        const std::string d(dtype);
        const test::Edits edits = {{ParamId::kStream, stream}, {ParamId::kWay, way}};
        expect_exact("packed/staged", d + " (37,7,5)", d + " (37,7,5):(35,1,7)", edits);
        expect_exact("packed/staged", d + " (3,1001)", d + " (3,1001):(1,3)", edits);
        expect_exact("packed/staged", d + " (1001,4)", d + " (1001,4):(1,1001)", edits);
        expect_exact("packed/staged", d + " (30,5,12,20)", d + " (30,5,12,20):(1200,240,1,12)", edits);
        expect_exact("packed/staged", d + " (9,4,5,6)", d + " (9,4,5,6):(120,30,-6,-1)@29", edits);
      }
}

}  // namespace
}  // namespace restride
