#include "src/cpu/tile/matrices.h"

#include <fmt/format.h>

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;

/// dst (cols, rows) contiguous or with a pitch, src its transpose: one f32, u8 ... matrix.
std::string matrix(const char* dtype, std::int64_t cols, std::int64_t rows, std::int64_t col_stride,
                   std::int64_t row_stride) {
  return std::string(dtype) + " (" + std::to_string(cols) + "," + std::to_string(rows) + "):(" +
         std::to_string(col_stride) + "," + std::to_string(row_stride) + ")";
}
void expect_transpose(const char* dst, const char* src, std::int64_t cols, std::int64_t rows, std::int64_t pitch,
                      test::Edits edits, int threads = 1) {
  for (const std::int64_t skew : {0, 13})
    expect_exact("tile/matrices", matrix(dst, cols, rows, pitch, 1), matrix(src, cols, rows, 1, cols), edits, skew,
                 threads);
}

TEST(TileMatrices, MovesSmallOnesOfAnyShape) {
  for (const auto& [dtype, unit] : {std::pair{"u8", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"c128", 16}})
    for (const int rows : {16 / unit, 17, 32 / unit + 1, 63, 64 / unit + 16 / unit, 64 / unit + 33, 127})
      for (const int cols : {16 / unit, 19}) {
        if (rows * unit < 16 || rows == 1 || cols == 1) continue;
        expect_transpose(dtype, dtype, cols, rows, rows + 1, {});
      }
  expect_exact("tile/matrices", "f32 (3,2,4,20,8)", "f32 (3,2,4,20,8):(160,20,960,1,40)");
  expect_exact("tile/matrices", "c128 (5,3,7,4)", "c128 (5,3,7,4):(84,7,1,21)", {}, 13, 2);
  expect_exact("tile/matrices", "f32 (5,9,7)", "f32 (5,9,7):(63,1,9)");
  expect_exact("tile/matrices", "u8 (3,40,33):(1330,33,1)", "u8 (3,40,33):(1320,-1,40)@39");
}

TEST(TileMatrices, StoresShortColumnsOverTheNextOnes) {
  for (const auto& [dtype, unit] : {std::pair{"f32", 4}, {"f64", 8}, {"f16", 2}})
    for (int rows = 16 / unit; rows <= 64 / unit + 1; ++rows)
      for (const int cols : {511, 512, 513, 515, 2050})
        for (const int threads : {1, 3}) {
          const std::string dst = fmt::format("{} ({},{})", dtype, cols, rows);
          for (const int gap : {0, 1}) {  // between columns of dst, which nothing may be written into
            const std::string to = dst + fmt::format(":({},1)", rows + gap);
            expect_exact("tile/matrices", to, dst + fmt::format(":(1,{})", cols + 5), {}, 13, threads);
          }
        }
  expect_exact("tile/matrices", "f32 (3,600,7)", "f32 (3,600,7):(4200,1,600)");
  expect_exact("tile/matrices", "f64 (3,600,5)", "f64 (3,600,5):(3000,1,-600)@2400");
}

TEST(TileMatrices, MovesSmallOnesOfRecords) {
  for (const int bytes : {3, 5, 6, 7, 9, 11, 12, 15})
    for (const int rows : {16, 17, 19, 24, 33, 47})
      for (const int cols : {4, 5, 6, 7, 9, 18})
        for (const int gap : {0, 1}) {  // between cells of src, and between columns of dst
          const int cell = bytes + gap;
          const std::string shape = fmt::format("u8 ({},{},{})", cols, rows, bytes);
          expect_exact("tile/matrices", fmt::format("{}:({},{},1)", shape, rows * bytes + gap, bytes),
                       fmt::format("{}:({},{},1)", shape, cell, cols * cell));
        }
  for (const int bytes : {3, 5, 7, 12, 13})  // blocks of lines
    for (const int rows : {16, 31, 63, 64, 65, 81, 130})
      for (const int cols : {8, 15, 16, 17, 33})
        for (const int gap : {0, 1}) {
          const int cell = bytes + gap;
          const std::string shape = fmt::format("u8 ({},{},{})", cols, rows, bytes);
          expect_exact("tile/matrices", fmt::format("{}:({},{},1)", shape, rows * bytes + gap, bytes),
                       fmt::format("{}:({},{},1)", shape, cell, cols * cell), {}, 13);
        }
  for (const int bytes : {5, 7, 9, 12, 15})  // as few rows as a block has
    for (const int rows : {4, 5, 7, 8, 9, 11, 13})
      for (const int cols : {4, 5, 8, 19}) {
        if (rows < cpu::least_record_rows(bytes)) continue;
        const std::string shape = fmt::format("u8 ({},{},{})", cols, rows, bytes);
        expect_exact("tile/matrices", fmt::format("{}:({},{},1)", shape, rows * bytes + 1, bytes),
                     fmt::format("{}:({},{},1)", shape, bytes, cols * bytes), {}, 13);
      }
  for (const auto& [bytes, band] : {std::pair{3, 16}, {3, 21}, {5, 8}, {7, 13}, {9, 4}, {12, 6}}) {
    SCOPED_TRACE(fmt::format("{} bytes, bands of {}", bytes, band));
    const test::Edits some = {{plan::ParamId::kBandCols, band}};
    const std::string shape = fmt::format("u8 (2,101,70,{})", bytes);
    const std::int64_t row = 101 * bytes;
    for (const int threads : {1, 3}) {
      expect_exact("tile/matrices", shape, fmt::format("{}:({},{},{},1)", shape, 70 * row, bytes, row), some, 13,
                   threads);
      expect_exact("tile/matrices", shape, fmt::format("{}:({},{},{},1)@{}", shape, 70 * row, -bytes, row, 100 * bytes),
                   some, 13, threads);
    }
  }
  const test::Edits bands = {{plan::ParamId::kBandCols, 8}};
  expect_exact("tile/matrices", "u8 (40,70,3)", "u8 (40,70,3):(-3,120,1)@117", bands, 13, 3);
  expect_exact("tile/matrices", "u8 (40,70,3)", "u8 (40,70,3):(3,-120,-1)@8282", {}, 13, 2);
  expect_exact("tile/matrices", "f16 (40,70,3)", "f16 (40,70,3):(3,120,-1)@2");
  expect_exact("tile/matrices", "u8 (30,40,3)", "u8 (30,40,3):(-3,90,1)@87", bands, 13, 3);
  expect_exact("tile/matrices", "u8 (30,40,3)", "u8 (30,40,3):(3,-90,-1)@3512", bands, 13, 2);
  expect_exact("tile/matrices", "u8 (2,30,40,3)", "u8 (2,30,40,3):(4800,4,-120,-1)@4682");
  expect_exact("tile/matrices", "f16 (30,40,3)", "f16 (30,40,3):(3,90,-1)@2");
  test::expect_disjoint_tasks("tile/matrices", "u8 (301,200,5)", "u8 (301,200,5):(5,1505,1)");
}

TEST(TileMatrices, SharesLargeOnesAmongThreads) {
  for (const auto& [dtype, unit] : {std::pair{"u8", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"c128", 16}}) {
    const std::int64_t rows = 1000 / unit + 1;
    const std::int64_t cols = 300 * 1024 / (rows * unit);
    for (const int threads : {1, 2, 3}) expect_transpose(dtype, dtype, cols, rows, rows + 1, {}, threads);
  }
  expect_exact("tile/matrices", "f32 (3,211,151)", "f32 (3,211,151):(31861,1,211)", {}, 13, 2);
  expect_exact("tile/matrices", "f32 (251,301)", "f32 (251,301):(-1,251)@250", {}, 13, 2);
}

TEST(TileMatrices, MovesThoseThatLeaveTheCachesWhereToldTo) {
  expect_transpose("f32", "f32", 1000, 301, 301, {{plan::ParamId::kBandCols, 100}}, 2);
}

TEST(TileMatrices, GoesDownColumnsBandByBandWhereToldTo) {
  for (const auto& [dtype, unit] : {std::pair{"u8", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"c128", 16}}) {
    const int line = 64 / unit;
    for (const int rows : {16 / unit + 1, line, line + 1, 2 * line + 16 / unit, 3 * line - 1})
      for (const int cols : {line, line + 1, 2 * line, 3 * line + 16 / unit - 1, 4 * line + 7}) {
        SCOPED_TRACE(fmt::format("{} {} rows, {} columns", dtype, rows, cols));
        const test::Edits down = {{plan::ParamId::kOrder, 0}, {plan::ParamId::kBandCols, line}};
        expect_transpose(dtype, dtype, cols, rows, rows + 1, down);
        expect_transpose(dtype, dtype, cols, rows, rows, down, 2);
        expect_transpose(dtype, dtype, cols, rows, rows, {{plan::ParamId::kOrder, 0}});  // one band
      }
  }
  expect_exact("tile/matrices", "f32 (3,2,67,35)", "f32 (3,2,67,35):(4690,2345,1,67)",
               {{plan::ParamId::kOrder, 0}, {plan::ParamId::kBandCols, 16}}, 13, 2);
  expect_exact("tile/matrices", "f32 (67,35)", "f32 (67,35):(-1,67)@66",
               {{plan::ParamId::kOrder, 0}, {plan::ParamId::kBandCols, 16}}, 13, 2);
}

TEST(TileMatrices, WritesThosePastTheCachesColumnByColumn) {
  for (const auto& [dtype, unit] : {std::pair{"u8", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"c128", 16}})
    for (const int bytes : {64, 80, 112, 128, 144, 336, 656, 1280, 1328, 3024})
      for (const int cols : {16 / unit, 16 / unit + 1, 64 / unit, 64 / unit + 5, 103}) {
        const int rows = bytes / unit;
        const bool fits = cpu::fits_a_band(bytes, unit) && bytes * cols <= cpu::kSizes.matrix_most_streamed_bytes;
        if (!fits || cols == 1) continue;
        SCOPED_TRACE(fmt::format("{} rows, {} columns", rows, cols));
        const std::string dst = fmt::format("{} (3,{},{})", dtype, cols, rows);
        const std::string src = fmt::format("{}:({},1,{})", dst, rows * cols, cols);
        for (const bool near : {false, true}) {
          const test::Edits whole = {
              {plan::ParamId::kStream, 1}, {plan::ParamId::kNear, near}, {plan::ParamId::kBandCols, cols}};
          for (const std::int64_t skew : {0, 13}) expect_exact("tile/matrices", dst, src, whole, skew, 2);
        }
      }
  expect_exact("tile/matrices", "f16 (5,19,67)", "f16 (5,19,67):(1273,1,19)", test::kStreamed);
  // Matrices that lie apart, change places, or run backwards.
  expect_exact("tile/matrices", "f32 (3,2,41,37):(3040,1520,37,1)", "f32 (3,2,41,37):(1600,4800,1,41)", test::kStreamed,
               13, 2);
  expect_exact("tile/matrices", "u8 (4,50,121):(-6050,121,1)@18150", "u8 (4,50,121):(6051,1,50)", test::kStreamed, 13);
}

TEST(TileMatrices, WritesEachByteByOneTask) {
  test::expect_disjoint_tasks("tile/matrices", "f32 (9,77,61)", "f32 (9,77,61):(4697,1,77)");
  test::expect_disjoint_tasks("tile/matrices", "f32 (301,251)", "f32 (301,251):(1,301)");
  test::expect_disjoint_tasks("tile/matrices", "f32 (2,301,131)", "f32 (2,301,131):(39431,1,301)");
}

}  // namespace
}  // namespace restride
