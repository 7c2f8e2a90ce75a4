#include "src/cpu/tile/sets.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

layout::Canonical canon(std::string_view dst, std::string_view src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
}
bool sets_of(const layout::Canonical& c, TileSets* sets) { return tile_sets(c, kTileRowBytes, kTileColBytes, sets); }

TEST(TileSets, AreTheFastModesOfBothSides) {
  TileSets s;
  ASSERT_TRUE(sets_of(canon("f32 (64,96)", "f32 (64,96):(1,64)"), &s));
  EXPECT_EQ(s.rows.points, 96);
  EXPECT_EQ(s.cols.points, 64);
  EXPECT_FALSE(s.cols_backwards);
}

TEST(TileSets, GrowOverShortModes) {
  // Five axes reversed: columns grow over src's fast modes and leave dst its own.
  TileSets s;
  ASSERT_TRUE(sets_of(canon("f32 (4,5,6,7,8)", "f32 (4,5,6,7,8):(1,4,20,120,840)"), &s));
  EXPECT_TRUE(s.rows.has(0));
  EXPECT_TRUE(s.cols.has(4));
  EXPECT_EQ(s.rows.points, 8);
  EXPECT_EQ(s.cols.points, 4 * 5 * 6 * 7) << "columns grow first, to about 4 KiB of source";
  for (std::uint8_t m : s.rows.modes) EXPECT_FALSE(s.cols.has(m));
}

TEST(TileSets, TurnAColumnModeThatRunsBackwards) {
  TileSets s;
  ASSERT_TRUE(sets_of(canon("f32 (64,96)", "f32 (64,96):(-1,64)@63"), &s));
  EXPECT_TRUE(s.cols_backwards);
}

TEST(TileSets, AreNoneWhereBothSidesShareTheFastModeOrLackOne) {
  TileSets s;
  EXPECT_FALSE(sets_of(canon("f32 (64,96)", "f32 (64,96):(100,1)"), &s));
  EXPECT_FALSE(sets_of(canon("f32 (64,96):(200,2)", "f32 (64,96):(1,64)"), &s));
  EXPECT_FALSE(sets_of(canon("f32 (64,96)", "f32 (64,96):(2,128)"), &s));
  EXPECT_FALSE(sets_of(canon("f32 (2,3):(4,1)", "f32 (3,2):(4,1)"), &s));
}

TEST(TileSets, GiveAContestedModeToRowsThatEndInsideALine) {
  // The mode of 320 could go on with either side: with src's 1792 bytes, or with dst's 292, which are no whole lines.
  TileSets s;
  ASSERT_TRUE(sets_of(canon("f32 (448,320,73)", "f32 (448,320,73):(1,448,143360)"), &s));
  EXPECT_EQ(s.rows.points, 73 * 320);
  EXPECT_EQ(s.cols.points, 448);
  TileSets whole;
  ASSERT_TRUE(sets_of(canon("f32 (448,320,64)", "f32 (448,320,64):(1,448,143360)"), &whole));
  EXPECT_EQ(whole.rows.points, 64);
  EXPECT_EQ(whole.cols.points, 448 * 320);
  TileSets shorter;
  ASSERT_TRUE(sets_of(canon("f32 (48,320,73)", "f32 (48,320,73):(1,48,15360)"), &shorter));
  EXPECT_EQ(shorter.rows.points, 73) << "columns of 192 bytes are not long enough to do without it";
}

TEST(TileSets, SayWhichMatricesNeedNoStaging) {
  const auto plain = [](std::string_view dst, std::string_view src) {
    TileSets s;
    const layout::Canonical c = canon(dst, src);
    return sets_of(c, &s) && plain_matrices(c, s);
  };
  EXPECT_TRUE(plain("f32 (64,96)", "f32 (64,96):(1,64)"));
  EXPECT_TRUE(plain("f32 (9,5,4)", "f32 (9,5,4):(20,1,5)"));
  EXPECT_FALSE(plain("f32 (64,3)", "f32 (64,3):(1,64)")) << "a block is 16 bytes wide";
  EXPECT_FALSE(plain("f32 (3,64)", "f32 (3,64):(1,3)"));
  EXPECT_FALSE(plain("f16 (64,96)", "f32 (64,96):(1,64)")) << "a cast is staged";
}

TEST(TileSets, HaveAMatrixOfOneModeASide) {
  TileSets s;
  const layout::Canonical c = canon("f32 (8,4,8,160,8)", "f32 (8,4,8,160,8):(5120,160,40960,1,640)");
  ASSERT_TRUE(sets_of(c, &s));
  EXPECT_EQ(s.cols.points, 160 * 4) << "a tile goes on into the next mode";
  EXPECT_FALSE(plain_matrices(c, s));
  const TileSets one = matrix_sets(c, s);
  EXPECT_EQ(one.rows.points, 8);
  EXPECT_EQ(one.cols.points, 160);
  EXPECT_TRUE(plain_matrices(c, one));
}

}  // namespace
}  // namespace restride::cpu
