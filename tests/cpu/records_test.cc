#include "src/cpu/records.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

layout::Canonical canon(std::string_view dst, std::string_view src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
}

TEST(Records, AreTheRunsThatBothSidesShare) {
  Records r;
  ASSERT_TRUE(tile_records(canon("u8 (64,96,3)", "u8 (64,96,3):(3,192,1)"), &r));
  EXPECT_EQ(r.copy.dst_unit, 3);
  EXPECT_EQ(r.copy.src_unit, 3);
  EXPECT_EQ(r.copy.units, 64 * 96);
  EXPECT_EQ(r.copy.modes.size(), 2u);
  EXPECT_FALSE(r.reversed);
  ASSERT_TRUE(tile_records(canon("f32 (64,96,3)", "f32 (64,96,3):(3,192,1)"), &r));
  EXPECT_EQ(r.copy.dst_unit, 12);
  EXPECT_EQ(r.unit_bytes, 4);
}

TEST(Records, MayLieInLongerCellsOfTheSource) {
  Records r;
  ASSERT_TRUE(tile_records(canon("u8 (64,96,3)", "u8 (64,96,3):(4,256,1)"), &r));
  EXPECT_EQ(r.copy.dst_unit, 3);
  EXPECT_EQ(r.copy.src_unit, 4);
  ASSERT_TRUE(tile_records(canon("u8 (64,96)", "u8 (64,96):(4,256)"), &r)) << "one channel of four";
  EXPECT_EQ(r.copy.dst_unit, 1);
  EXPECT_FALSE(tile_records(canon("u8 (64,96,3)", "u8 (64,96,3):(65,6500,1)"), &r)) << "a line and more";
}

TEST(Records, MayRunBackwards) {
  Records r;
  ASSERT_TRUE(tile_records(canon("u8 (64,96,3)", "u8 (64,96,3):(3,192,-1)@2"), &r));
  EXPECT_TRUE(r.reversed);
  EXPECT_FALSE(tile_records(canon("f64 (64,96,3)", "f64 (64,96,3):(3,192,-1)@2"), &r)) << "longer than a vector";
}

TEST(Records, AreNoneWhereNothingIsTransposed) {
  Records r;
  EXPECT_FALSE(tile_records(canon("u8 (64,96,3)", "u8 (64,96,3):(300,3,1)"), &r));
  EXPECT_FALSE(tile_records(canon("u8 (96,3)", "u8 (96,3):(4,1)"), &r));
  EXPECT_FALSE(tile_records(canon("u8 ()", "u8 ()"), &r));
  EXPECT_FALSE(tile_records(canon("u8 (64,96,3):(400,4,1)", "u8 (64,96,3):(3,192,1)"), &r)) << "gaps in dst";
  EXPECT_FALSE(tile_records(canon("f32 (64,96)", "f32 (64,96):(1,64)"), &r)) << "units do";
}

TEST(Records, MakeRows) {
  Records r;
  ASSERT_TRUE(row_records(canon("u8 (64,96,3)", "u8 (64,96,3):(384,4,1)"), &r));
  EXPECT_EQ(r.copy.dst_unit, 3);
  EXPECT_EQ(r.copy.src_unit, 4);
  EXPECT_EQ(r.copy.modes[0].extent, 64 * 96);
  ASSERT_TRUE(row_records(canon("u8 (64,96,3)", "u8 (64,96,3):(288,-3,1)@285"), &r)) << "mirrored";
  EXPECT_EQ(r.copy.modes[0].src_stride, -3);
  ASSERT_TRUE(row_records(canon("f32 (64,96)", "f32 (64,96):(192,2)"), &r)) << "every second unit";
  EXPECT_EQ(r.copy.dst_unit, 4);
  ASSERT_TRUE(row_records(canon("u8 (64,96,3):(384,4,1)", "u8 (64,96,3)"), &r)) << "into three channels of four";
  EXPECT_EQ(r.copy.modes[0].dst_stride, 4);
  EXPECT_FALSE(row_records(canon("f32 (64,96)", "f32 (64,96):(100,1)"), &r)) << "dense rows";
  EXPECT_FALSE(row_records(canon("f32 (64,96)", "f32 (64,96):(96,-1)@95"), &r)) << "units reversed";
  EXPECT_FALSE(row_records(canon("f64 (64,96,3)", "f64 (64,96,3):(384,4,1)"), &r)) << "longer than a vector";
}

TEST(Records, DoNotConvert) {
  Records r;
  EXPECT_FALSE(tile_records(canon("f32 (64,96,3)", "u8 (64,96,3):(3,192,1)"), &r));
}

}  // namespace
}  // namespace restride::cpu
