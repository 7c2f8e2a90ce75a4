#include "src/plan/cpu_buffered.h"

#include <gtest/gtest.h>

namespace restride::plan {
namespace {

bool sets_of(std::string_view dst, std::string_view src, BufferedSets* sets, std::int64_t max_bytes = kBufferedBytes) {
  const layout::Canonical c =
      layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
  return buffered_sets(c, max_bytes, sets);
}

TEST(BufferedSets, AreAWholeMatrixWhereItFits) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("u8 (4097,77,129)", "u8 (4097,77,129):(9933,1,77)", &s));
  EXPECT_EQ(s.rows.points, 129);
  EXPECT_EQ(s.cols.points, 77);
  EXPECT_EQ(s.points, 77);
  EXPECT_EQ(s.units, 9933);
}

TEST(BufferedSets, CutTheColumnsEvenlyWhereItDoesNot) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("f32 (300,200,250)", "f32 (300,200,250):(50000,1,200)", &s, 12000));
  EXPECT_EQ(s.cols.points, 200);
  EXPECT_EQ(s.points, 12) << "17 parts of at most 12 columns of 1000 bytes";
  EXPECT_EQ(s.units, 12 * 250);
}

TEST(BufferedSets, TakeASecondSourceModeWhereTheFirstIsShort) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("u8 (75,11,43,18)", "u8 (75,11,43,18):(8514,1,11,473)", &s));
  EXPECT_EQ(s.rows.points, 18);
  EXPECT_EQ(s.cols.points, 11 * 43);
  EXPECT_EQ(s.units, 11 * 43 * 18);
}

TEST(BufferedSets, HoldWhatLiesBetweenRowsAndColumns) {
  BufferedSets s;
  ASSERT_TRUE(sets_of("f32 (40,3,20)", "f32 (40,3,20):(1,1000,45)", &s));
  EXPECT_EQ(s.rows.points * s.others.points, 60);
  EXPECT_EQ(s.cols.points, 40);
}

TEST(BufferedSets, AreNoneWithGapsInDstOrColumnsTooFarOut) {
  BufferedSets s;
  EXPECT_FALSE(sets_of("f32 (5,40,50):(2050,51,1)", "f32 (5,40,50):(2000,1,40)", &s));
  EXPECT_FALSE(sets_of("f32 (448,320,512)", "f32 (448,320,512):(1,448,143360)", &s)) << "a column is 655,360 bytes";
  EXPECT_FALSE(sets_of("f32 (64,64)", "f32 (64,64):(100,1)", &s)) << "both sides share the fast mode";
  EXPECT_FALSE(sets_of("f32 (2,3):(4,1)", "f32 (3,2):(4,1)", &s)) << "the shapes have no common refinement";
}

}  // namespace
}  // namespace restride::plan
