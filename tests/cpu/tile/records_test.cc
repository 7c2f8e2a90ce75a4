#include "src/cpu/tile/records.h"

#include <sstream>
#include <vector>

#include "tests/cpu/family.h"

namespace restride {
namespace {

using plan::ParamId;
using test::expect_exact;
using test::kStreamed;

/// A matrix of records of `bytes`, transposed from cells of `cell`: whole, then streamed.
void expect_transpose(std::int64_t cols, std::int64_t rows, std::int64_t bytes, std::int64_t cell, bool reversed,
                      test::Edits edits = kStreamed) {
  std::ostringstream dst;
  dst << "u8 (" << cols << ',' << rows << ',' << bytes << ')';
  std::ostringstream src;
  src << dst.str() << ":(" << cell << ',' << cols * cell << (reversed ? ",-1)@" : ",1)@") << (reversed ? bytes - 1 : 0);
  expect_exact("tile/records", dst.str(), src.str(), edits);
}

TEST(TileRecords, TransposesPixelsOfEveryLength) {
  for (const std::int64_t bytes : {3, 5, 6, 7, 9, 11, 12, 15, 17, 24, 31, 40, 63}) {
    expect_transpose(37, 83, bytes, bytes, false, {});
    expect_transpose(70, 150, bytes, bytes, false);
  }
}

TEST(TileRecords, TakesPixelsFromCellsThatAreLonger) {
  for (const std::int64_t bytes : {1, 2, 3, 4, 7, 8, 13, 16, 20})
    for (const std::int64_t gap : {1, 5, 13, 40}) expect_transpose(37, 83, bytes, bytes + gap, false);
}

TEST(TileRecords, TurnsPixelsRound) {
  for (const std::int64_t bytes : {2, 3, 4, 5, 8, 12, 16})
    for (const std::int64_t gap : {0, 1, 6}) expect_transpose(37, 83, bytes, bytes + gap, true);
  expect_exact("tile/records", "f32 (37,83,3)", "f32 (37,83,3):(3,111,-1)@2", kStreamed);
  expect_exact("tile/records", "f16 (37,83,3)", "f16 (37,83,3):(3,111,-1)@2", kStreamed);
}

TEST(TileRecords, TurnsImagesByAQuarter) {
  expect_exact("tile/records", "u8 (2,120,90,3)", "u8 (2,120,90,3):(32400,-3,360,1)@357", kStreamed);
  expect_exact("tile/records", "u8 (2,120,90,3)", "u8 (2,120,90,3):(32400,3,-360,1)@32040", kStreamed);
  expect_exact("tile/records", "u8 (2,120,90,3)", "u8 (2,120,90,3):(43200,-4,480,-1)@478", kStreamed, 13, 3);
}

TEST(TileRecords, CarriesRaggedEndsOverTilesBandsAndChunks) {
  for (const std::int64_t bytes : {3, 6, 12, 24}) {
    const std::int64_t rows = bytes == 3 ? 64 : bytes == 6 ? 32 : 16;
    const test::Edits small = {{ParamId::kStream, 1},
                               {ParamId::kTileRows, rows},
                               {ParamId::kTileCols, 5},
                               {ParamId::kBandCols, 15},
                               {ParamId::kBlockUnits, 2 * rows}};
    expect_transpose(43, 5 * rows + 7, bytes, bytes, false, small);
    expect_transpose(43, 5 * rows, bytes, bytes + 2, false, small);
  }
}

/// Lengths of records; those below 5 bytes are asked for in vain, and go as they do else.
const std::vector<std::int64_t> kMerged = {3,  5,  6,  7,  9,  10, 11, 12, 13, 14, 15, 17, 18, 19,
                                           20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

TEST(TileRecords, MergesRecordsWhereverRowsAndColumnsLie) {
  for (const std::int64_t bytes : kMerged)
    for (const std::int64_t source : {0, 1}) {
      const std::int64_t rows = 64;
      const test::Edits edits = {
          {ParamId::kStream, 1},      {ParamId::kNear, 0},      {ParamId::kRecordWay, 2},
          {ParamId::kSource, source}, {ParamId::kOddAhead, 0},  {ParamId::kTileRows, rows},
          {ParamId::kTileCols, 12},   {ParamId::kBandCols, 24}, {ParamId::kBlockUnits, 2 * rows}};
      // Columns a whole number of lines apart; of ends inside lines; that end inside a block; of a single tile.
      for (const std::int64_t points : {4 * rows, 5 * rows + 4, 3 * rows + 13, std::int64_t{37}}) {
        expect_transpose(43, points, bytes, bytes, false, edits);
        if (bytes <= 16) expect_transpose(24, points, bytes, bytes + bytes % 3, bytes % 2 != 0, edits);
      }
    }
}

TEST(TileRecords, MergesRecordsInTheCaches) {
  for (const std::int64_t bytes : kMerged)
    for (const std::int64_t points : {128, 101})
      expect_transpose(43, points, bytes, bytes, false, {{ParamId::kStream, 0}, {ParamId::kRecordWay, 2}});
}

TEST(TileRecords, MakesLinesOfTriplesWhereverRowsAndColumnsLie) {
  for (const std::int64_t part : {1, 2, 4, 8, 16}) {
    const std::int64_t bytes = 3 * part;
    const std::int64_t block = 64 / part;     // rows that make three lines
    for (const std::int64_t near : {0, 1}) {  // staged, and in place
      const test::Edits edits = {{ParamId::kStream, 1},    {ParamId::kNear, near},           {ParamId::kSource, near},
                                 {ParamId::kOddAhead, 0},  {ParamId::kTileRows, block},      {ParamId::kTileCols, 8},
                                 {ParamId::kBandCols, 16}, {ParamId::kBlockUnits, 2 * block}};
      for (const std::int64_t rows : {block, 4 * block, 5 * block + 1, 2 * block + block / 2})
        for (const std::int64_t cols : {4, 16, 43}) {
          std::ostringstream dst, pitched;
          dst << "u8 (" << cols << ',' << rows << ',' << bytes << ')';
          pitched << dst.str() << ":(" << bytes << ",4096,1)";
          expect_exact("tile/records", dst.str(), pitched.str(), edits, 8 * part);
          pitched.str({});
          pitched << dst.str() << ":(" << bytes << ',' << cols * bytes + 8 << ",1)";
          expect_exact("tile/records", dst.str(), pitched.str(), edits, 3);
        }
    }
  }
}

TEST(TileRecords, MovesLinesAsTheyAreReadWhereColumnsLieOnLines) {
  for (const std::int64_t in_place : {0, 1}) {
    const test::Edits edits = {{ParamId::kStream, 1},   {ParamId::kSource, in_place}, {ParamId::kTileRows, 16},
                               {ParamId::kTileCols, 8}, {ParamId::kBandCols, 16},     {ParamId::kBlockUnits, 32}};
    for (const std::int64_t rows : {2, 16, 37})
      for (const std::int64_t cols : {3, 8, 43}) {
        std::ostringstream dst, src;
        dst << "u8 (" << cols << ',' << rows << ",64)";
        src << dst.str() << ":(64," << cols * 64 + 8 << ",1)";
        for (const std::int64_t off_lines : {0, 3})
          expect_exact("tile/records", dst.str(), src.str(), edits, off_lines);
        dst.str({});
        dst << "u8 (" << cols << ',' << rows << ",64):(" << rows * 64 + 16 << ",64,1)";  // every other column off lines
        expect_exact("tile/records", dst.str(), src.str(), edits);
      }
  }
}

TEST(TileRecords, TakesPlansOfTilesOfAnySize) {
  for (const std::int64_t bytes : {3, 7, 12, 48}) {
    const std::int64_t most = 512 / bytes / 4 * 4;
    for (const std::int64_t rows : {128, 64})
      expect_transpose(2 * most + 1, 2 * rows + 5, bytes, bytes, false,
                       {{ParamId::kStream, 1},
                        {ParamId::kTileRows, rows * bytes <= 4096 ? rows : 64},
                        {ParamId::kTileCols, most},
                        {ParamId::kBandCols, 2 * most},
                        {ParamId::kBlockUnits, 2 * rows}});
  }
}

TEST(TileRecords, LeavesGapsOfTheDestinationAlone) {
  expect_exact("tile/records", "u8 (37,83,3):(257,3,1)", "u8 (37,83,3):(3,111,1)", kStreamed);
}

}  // namespace
}  // namespace restride
