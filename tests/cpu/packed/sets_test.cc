#include "src/cpu/packed/sets.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

layout::Canonical canon(std::string_view dst, std::string_view src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
}

TEST(PackedSets, HoldDenseRunsOnBothSides) {
  PackedSets s;
  const layout::Canonical c = canon("u8 (3,100000)", "u8 (3,100000):(1,3)");
  ASSERT_TRUE(packed_sets(c, 2048, 2048, kPackedUnits, kPackedModes, &s));
  EXPECT_EQ(s.points[1], 3) << "all three channels";
  EXPECT_GE(s.dst_run_units, 2048);
  EXPECT_EQ(s.src_run_units, 3 * s.dst_run_units);
  EXPECT_EQ(s.units, s.src_run_units);
}

TEST(PackedSets, ReadAlongShortGapsOfTheSource) {
  PackedSets s;
  ASSERT_TRUE(packed_sets(canon("u8 (100000,3)", "u8 (100000,3):(4,1)"), 2048, 2048, kPackedUnits, kPackedModes, &s));
  EXPECT_EQ(s.src_run_units, 3 * s.points[1]);
  EXPECT_EQ(s.src_run_bytes, 4 * s.points[1] - 1);
  EXPECT_TRUE(packed_sets(canon("u8 (100000)", "u8 (100000):(8)"), 64, 64, kPackedUnits, kPackedModes, &s));
  EXPECT_FALSE(packed_sets(canon("u8 (100000)", "u8 (100000):(9)"), 64, 64, kPackedUnits, kPackedModes, &s))
      << "less than an eighth is wanted";
  EXPECT_FALSE(
      packed_sets(canon("b16 (1000,16)", "b16 (1000,16):(21,1)"), 8192, 8192, kPackedUnits, kPackedModes, &s) &&
      s.src_run_bytes > 16 * 16)
      << "a run of 256 bytes needs no neighbour";
}

TEST(PackedSets, StayWithinTheirUnits) {
  PackedSets s;
  const layout::Canonical c = canon("f32 (4096,4096)", "f32 (4096,4096):(1,4096)");
  EXPECT_FALSE(packed_sets(c, 2048, 2048, 4096, kPackedModes, &s)) << "512 x 512 units";
  ASSERT_TRUE(packed_sets(c, 256, 256, 4096, kPackedModes, &s));
  EXPECT_LE(s.units, 4096);
}

TEST(PackedSets, AreNoneWithoutADenseMode) {
  PackedSets s;
  EXPECT_FALSE(packed_sets(canon("f32 (64,96)", "f32 (64,96):(2,128)"), 256, 256, 4096, kPackedModes, &s));
  EXPECT_FALSE(packed_sets(canon("f32 ()", "f32 ()"), 256, 256, 4096, kPackedModes, &s));
}

}  // namespace
}  // namespace restride::cpu
