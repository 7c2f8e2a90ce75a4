#include "src/plan/cpu_channels.h"

#include <gtest/gtest.h>

#include <string_view>

#include "src/plan/cpu_planner.h"

namespace restride::plan {
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

TEST(CpuChannels, AreTwoToFour) {
  Channels c;
  EXPECT_FALSE(found("u8 (5,500)", "u8 (5,500):(1,5)", &c));
  EXPECT_FALSE(found("u8 (500,5)", "u8 (500,5):(1,500)", &c));
}

TEST(CpuChannels, AreNoneWhereInterleavedPointsHaveGapsOrAreFew) {
  Channels c;
  EXPECT_FALSE(found("u8 (3,500)", "u8 (3,500):(1,4)", &c));
  EXPECT_FALSE(found("u8 (500,3):(4,1)", "u8 (500,3):(1,500)", &c));
  EXPECT_FALSE(found("u8 (3,31)", "u8 (3,31):(1,3)", &c));
  EXPECT_FALSE(found("c128 (3,500)", "c128 (3,500):(1,3)", &c));
}

TEST(CpuChannels, AreChosenForImagesThatStayInTheCaches) {
  const auto chosen = [](std::string_view dst, std::string_view src) {
    return plan_cpu(canonical(dst, src), CpuMachine{}).chosen.family;
  };
  EXPECT_EQ(chosen("u8 (3,224,224)", "u8 (3,224,224):(1,672,3)"), Family::kChannels);
  EXPECT_EQ(chosen("f32 (3,224,224)", "u8 (3,224,224):(1,672,3)"), Family::kChannels);
  EXPECT_EQ(chosen("u8 (224,224,3)", "f32 (224,224,3):(224,1,50176)"), Family::kChannels);
  EXPECT_EQ(chosen("u8 (3,2240,2240)", "u8 (3,2240,2240):(1,6720,3)"), Family::kPacked);
}

}  // namespace
}  // namespace restride::plan
