#include "src/cpu/channels/find.h"

#include <gtest/gtest.h>

#include <string_view>

namespace restride::cpu {
namespace {

layout::Canonical canonical(std::string_view dst, std::string_view src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
}

bool found(std::string_view dst, std::string_view src, Channels* channels) {
  return find_channels(canonical(dst, src), channels);
}

TEST(CpuChannels, AreFoundInterleavedOnEitherSide) {
  Channels c;
  ASSERT_TRUE(found("u8 (3,100,50)", "u8 (3,100,50):(1,150,3)", &c));
  EXPECT_FALSE(c.together);
  EXPECT_EQ(c.channels, 1u);
  EXPECT_EQ(c.points, 0u);
  ASSERT_TRUE(found("u8 (100,50,3)", "u8 (100,50,3):(50,1,5000)", &c));
  EXPECT_TRUE(c.together);
  EXPECT_EQ(c.channels, 0u);
  EXPECT_EQ(c.points, 1u);
}

TEST(CpuChannels, AreFoundLastFirstInTheSource) {
  Channels c;
  EXPECT_TRUE(found("u8 (3,500)", "u8 (3,500):(-1,3)@2", &c));
  EXPECT_TRUE(found("u8 (500,3)", "u8 (500,3):(1,-500)@1000", &c));
}

TEST(CpuChannels, AreTwoToEight) {
  Channels c;
  EXPECT_TRUE(found("u8 (8,500)", "u8 (8,500):(1,8)", &c));
  EXPECT_TRUE(found("u8 (500,8)", "u8 (500,8):(1,500)", &c));
  EXPECT_FALSE(found("u8 (9,500)", "u8 (9,500):(1,9)", &c));
  EXPECT_FALSE(found("u8 (500,9)", "u8 (500,9):(1,500)", &c));
}

TEST(CpuChannels, MayBeSomeOfWiderPointsInTheSource) {
  Channels c;
  ASSERT_TRUE(found("u8 (3,500)", "u8 (3,500):(1,4)", &c));
  EXPECT_EQ(c.cell, 4);
  EXPECT_TRUE(found("u8 (2,500)", "u8 (2,500):(1,8)", &c));
  EXPECT_FALSE(found("u8 (3,500)", "u8 (3,500):(1,9)", &c));
  EXPECT_FALSE(found("f32 (3,500)", "f32 (3,500):(4,14)b", &c));  // no whole number of units
}

TEST(CpuChannels, AreNoneWherePointsOfDstHaveGapsOrAreFew) {
  Channels c;
  EXPECT_FALSE(found("u8 (500,3):(4,1)", "u8 (500,3):(1,500)", &c));
  EXPECT_FALSE(found("u8 (3,31)", "u8 (3,31):(1,3)", &c));
  EXPECT_FALSE(found("c128 (3,500)", "c128 (3,500):(1,3)", &c));
}

}  // namespace
}  // namespace restride::cpu
