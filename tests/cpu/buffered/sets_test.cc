#include "src/cpu/buffered/sets.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

bool sets_of(std::string_view dst, std::string_view src, BufferedSets* sets, std::int64_t dst_bytes = 4096,
             std::int64_t src_bytes = 64) {
  const layout::Canonical c =
      layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
  return buffered_sets(c, dst_bytes, src_bytes, sets);
}

TEST(BufferedSets, AreAWholeMatrixWhereItFits) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("u8 (4097,77,129)", "u8 (4097,77,129):(9933,1,77)", &s, 9933));
  EXPECT_EQ(s.rows.points, 129);
  EXPECT_EQ(s.cols.points, 77);
  EXPECT_EQ(s.dst_run.points, 9933);
  EXPECT_EQ(s.units, 9933);
}

TEST(BufferedSets, CutTheColumnsEvenlyWhereItDoesNot) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("f32 (300,200,250)", "f32 (300,200,250):(50000,1,200)", &s, 12000, 64));
  EXPECT_EQ(s.cols.points, 16) << "13 parts of whole lines";
  EXPECT_EQ(s.dst_run.points, 16 * 250);
}

TEST(BufferedSets, HoldSeveralRunsOfEachSide) {
  BufferedSets s;
  // 25 runs of 22 x 40 in dst are 22 of 25 x 40 in src: the mode of 40 is in both.
  ASSERT_TRUE(sets_of("u8 (25,48,47,40,22)", "u8 (25,48,47,40,22):(1,1000,1056000,25,48000)", &s, 600, 600));
  EXPECT_EQ(s.dst_run.points, 22 * 40);
  EXPECT_EQ(s.src_run.points, 25 * 40);
  EXPECT_EQ(s.units, 22 * 40 * 25);
}

TEST(BufferedSets, LeaveAModeToTheRowsWhereTheyAreShortWithoutIt) {
  BufferedSets s;
  // As columns, 9 x 16 would leave rows of 4; as 9 they leave 4 x 16 x 21.
  ASSERT_TRUE(sets_of("f16 (9,21,16,4)", "f16 (9,21,16,4):(1,144,9,3024)", &s, 2048, 256));
  EXPECT_EQ(s.cols.points, 9);
  EXPECT_EQ(s.rows.points, 4 * 16 * 21);
}

TEST(BufferedSets, RowsHaveALineWhereColumnsFillTheirVectors) {
  BufferedSets s;
  // As columns, 16 x 5 x 4 would leave rows of 8, half a line.
  ASSERT_TRUE(sets_of("f32 (8,16,5,8,8,8)", "f32 (8,16,5,8,8,8):(5120,1,16,40960,80,640)", &s, 1024, 256));
  EXPECT_EQ(s.cols.points, 16 * 5);
  EXPECT_EQ(s.rows.points, 8 * 8 * 4);
  // Alone, 5 halves would fill a third of their vectors.
  ASSERT_TRUE(sets_of("f16 (17,91,5,8,8)", "f16 (17,91,5,8,8):(40,680,1,5,61880)", &s, 1024, 256));
  EXPECT_GT(s.cols.points, 5);
}

TEST(BufferedSets, PadColumnsToLinesWhereThatTakesAThirdAtMostAndFits) {
  const auto pitch = [](std::string_view dst, std::string_view src, std::int64_t dst_bytes = 4096) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    BufferedSets s;
    EXPECT_TRUE(buffered_sets(c, dst_bytes, 64, &s));
    return padded_column_pitch(c, s);
  };
  EXPECT_EQ(pitch("f32 (9000,105)", "f32 (9000,105):(1,9000)"), 448);
  EXPECT_EQ(pitch("f32 (9000,24)", "f32 (9000,24):(1,9000)"), 128) << "96 bytes";
  EXPECT_EQ(pitch("f32 (9000,23)", "f32 (9000,23):(1,9000)"), 0) << "92 bytes";
  EXPECT_EQ(pitch("f32 (9000,15)", "f32 (9000,15):(1,9000)"), 0) << "less than a line";
  EXPECT_EQ(pitch("f32 (9000,112)", "f32 (9000,112):(1,9000)"), 0) << "lines as they are";
  EXPECT_EQ(pitch("u8 (900,97,150)", "u8 (900,97,150):(14550,1,97)", 150 * 97), 192);
}

TEST(BufferedSets, AreNoneWithASharedFastModeOrMoreThanABlock) {
  BufferedSets s;
  EXPECT_FALSE(sets_of("f32 (4096,4096)", "f32 (4096,4096):(1,4096)", &s, 4096, 4096)) << "4 MiB";
  EXPECT_FALSE(sets_of("f32 (64,64)", "f32 (64,64):(100,1)", &s)) << "both sides share the fast mode";
  EXPECT_FALSE(sets_of("f32 (2,3):(4,1)", "f32 (3,2):(4,1)", &s)) << "the shapes have no common refinement";
  EXPECT_FALSE(sets_of("f32 (64,64)", "f32 (64,64):(2,128)", &s)) << "src has no dense mode";
}

}  // namespace
}  // namespace restride::cpu
