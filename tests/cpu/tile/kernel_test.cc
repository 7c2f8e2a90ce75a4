#include "src/cpu/tile/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::expect_exact;

/// Past the caches: by lines, or with the ends of columns carried from tile to tile.
const test::Edits kLines = {{ParamId::kStream, 1}, {ParamId::kSink, 1}};
const test::Edits kCarried = {{ParamId::kStream, 1}, {ParamId::kSink, 2}};
const test::Edits kCarriedNear = {
    {ParamId::kStream, 1}, {ParamId::kNear, 1}, {ParamId::kSink, 2}, {ParamId::kSource, 0}};
const test::Edits kLinesNear = {{ParamId::kStream, 1}, {ParamId::kNear, 1}, {ParamId::kSink, 1}, {ParamId::kSource, 0}};
const test::Edits kCarriedInPlace = {
    {ParamId::kStream, 1}, {ParamId::kNear, 1}, {ParamId::kSink, 2}, {ParamId::kSource, 1}};
const test::Edits kLinesInPlace = {
    {ParamId::kStream, 1}, {ParamId::kNear, 1}, {ParamId::kSink, 1}, {ParamId::kSource, 1}};

/// dst (cols, rows) contiguous or with a pitch, src its transpose: one f32, u8 ... matrix.
std::string matrix(const char* dtype, std::int64_t cols, std::int64_t rows, std::int64_t col_stride,
                   std::int64_t row_stride) {
  return std::string(dtype) + " (" + std::to_string(cols) + "," + std::to_string(rows) + "):(" +
         std::to_string(col_stride) + "," + std::to_string(row_stride) + ")";
}
void expect_transpose(const char* dst, const char* src, std::int64_t cols, std::int64_t rows, std::int64_t pitch,
                      test::Edits edits, int threads = 1) {
  for (const std::int64_t skew : {0, 13})
    expect_exact("tile/units", matrix(dst, cols, rows, pitch, 1), matrix(src, cols, rows, 1, cols), edits, skew,
                 threads);
}

TEST(Tile, TransposesEveryUnit) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) expect_transpose(dtype, dtype, 64, 128, 128, {});
}

TEST(Tile, TransposesRowsAndColumnsThatFillNoVector) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) expect_transpose(dtype, dtype, 37, 83, 91, {});
}

TEST(Tile, TransposesAsFewAsTwoRowsOrColumns) {
  expect_transpose("f32", "f32", 2, 100, 100, {});
  expect_transpose("f32", "f32", 100, 2, 2, {});
  expect_transpose("u8", "u8", 2, 2, 3, {});
}

TEST(Tile, WritesEachByteByOneTask) {
  test::expect_disjoint_tasks("tile/units", "f32 (301,1251)", "f32 (301,1251):(1,301)");
  test::expect_disjoint_tasks("tile/units", "f32 (2,301,131)", "f32 (2,301,131):(39431,1,301)");
  test::expect_disjoint_tasks("tile/units", "u8 (801,2803)", "u8 (801,2803):(1,801)");
}

TEST(Tile, StreamsColumnsThatStartOnLines) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    expect_transpose(dtype, dtype, 40, 256, 256, kLines);
    expect_transpose(dtype, dtype, 40, 256, 256, kCarried);
  }
}

TEST(Tile, StreamsColumnsWhoseEndIsCutInsideALine) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    expect_transpose(dtype, dtype, 40, 203, 256, kLines);
    expect_transpose(dtype, dtype, 40, 203, 256, kCarried);
  }
}

TEST(Tile, StreamsColumnsThatStartAnywhere) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) expect_transpose(dtype, dtype, 37, 301, 307, kCarried);
}

TEST(Tile, PrefetchesTheNextTileNear) {
  for (const char* dtype : {"u8", "f32", "c128"}) {
    expect_transpose(dtype, dtype, 300, 203, 207, kCarriedNear);
    expect_transpose(dtype, dtype, 300, 203, 256, kLinesNear);
  }
}

TEST(Tile, StreamsColumnsShorterThanALine) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const std::int64_t rows : {2, 3, 5}) expect_transpose(dtype, dtype, 37, rows, rows, kCarried);
}

TEST(Tile, CarriesRaggedEndsOverTilesBandsAndChunks) {
  for (const auto& [dtype, unit] : {std::pair{"u8", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"c128", 16}})
    for (const int lines : {1, 2}) {
      const std::int64_t rows = 64 / unit * lines;
      const std::int64_t cols = 16 / unit * 3;
      const test::Edits small = {{ParamId::kStream, 1},          {ParamId::kSink, 2},
                                 {ParamId::kTileRows, rows},     {ParamId::kTileCols, cols},
                                 {ParamId::kBandCols, 2 * cols}, {ParamId::kBlockUnits, 2 * rows}};
      expect_transpose(dtype, dtype, 5 * cols + 1, 5 * rows + 1, 5 * rows + 2, small);
      expect_transpose(dtype, dtype, 5 * cols + 1, 5 * rows + 1, 5 * rows + 2, small, 3);
      expect_transpose(dtype, dtype, 5 * cols, 4 * rows, 4 * rows, small);
    }
}

TEST(Tile, ConvertsOnTheWayIn) {
  expect_transpose("bf16", "f32", 37, 301, 307, kCarried);
  expect_transpose("f32", "u8", 37, 301, 301, kCarried);
  expect_transpose("f64", "f32", 37, 83, 83, {});
  expect_transpose("c64", "f16", 37, 83, 84, kCarried);
}

TEST(Tile, TurnsColumnsThatRunBackwards) {
  expect_exact("tile/units", "f32 (40,203)", "f32 (40,203):(-1,40)@39");
  expect_exact("tile/units", "f32 (40,203)", "f32 (40,203):(-1,40)@39", kCarried);
}

TEST(Tile, TakesColumnsAtByteStrides) {
  expect_exact("tile/units", "f32 (20,100):(401,4)b", "f32 (20,100):(4,83)b", kCarried);
  expect_exact("tile/units", "f64 (20,100):(802,8)b", "f64 (20,100):(8,161)b", kCarried);
}

TEST(Tile, WalksSetsOfSeveralModesAndABatch) {
  expect_exact("tile/units", "f32 (3,4,5,6,7)", "f32 (3,4,5,6,7):(840,1,4,20,120)", kCarried);
  expect_exact("tile/units", "u8 (6,7,8,9,10)", "u8 (6,7,8,9,10):(1,6,42,336,3024)", kCarried, 13, 2);
}

TEST(Tile, ReadsRowsWhereTheyAre) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    expect_exact("tile/units", d + " (150,131)", d + " (150,131):(1,150)", kCarriedInPlace);      // ragged ends
    expect_exact("tile/units", d + " (192,256)", d + " (192,256):(1,192)", kLinesInPlace, 0, 2);  // none
    expect_exact("tile/units", d + " (150,11,13)", d + " (150,11,13):(1,150,1703)", kCarriedInPlace);
    expect_exact("tile/units", d + " (3,150,131):(20001,133,1)", d + " (3,150,131):(50000,1,-151)@19630",
                 kCarriedInPlace);
  }
}

TEST(Tile, StagesAPieceOfRowsThatMeetInTheCache) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    for (const char* cols : {"512", "301"}) {
      const std::string shape = d + " (" + cols + ",70)";
      expect_exact("tile/units", shape, shape + ":(1,4096)", kCarriedNear);
      expect_exact("tile/units", shape, shape + ":(1,4096)", kCarriedNear, 0, 2);
    }
  }
  expect_exact("tile/units", "f16 (512,70)", "f32 (512,70):(1,4096)", kCarriedNear);
}

}  // namespace
}  // namespace restride
