#include <gtest/gtest.h>

#include <string_view>

#include "src/cpu/planner.h"

namespace restride::cpu {
namespace {

layout::Canonical canonical(std::string_view dst, std::string_view src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
}

TEST(CpuChannels, AreChosenForImages) {
  const auto chosen = [](std::string_view dst, std::string_view src) {
    return plan_cpu(canonical(dst, src), CpuMachine{}).chosen.kernel.family;
  };
  EXPECT_EQ(chosen("u8 (3,224,224)", "u8 (3,224,224):(1,672,3)"), Family::kChannels);
  EXPECT_EQ(chosen("f32 (3,224,224)", "u8 (3,224,224):(1,672,3)"), Family::kChannels);
  EXPECT_EQ(chosen("u8 (224,224,3)", "f32 (224,224,3):(224,1,50176)"), Family::kChannels);
  EXPECT_EQ(chosen("u8 (3,2240,2240)", "u8 (3,2240,2240):(1,6720,3)"), Family::kChannels);
  EXPECT_NE(chosen("f32 (5,2000)", "f32 (5,2000):(1,5)"), Family::kChannels) << "in the caches 4 at most go at once";
}

TEST(CpuChannels, AreLeftToOthersWhereRunsAreShortOrPermutesMissing) {
  const auto chosen = [](std::int64_t least_shuffled_unit, std::string_view dst, std::string_view src) {
    CpuMachine machine;
    machine.least_shuffled_unit = least_shuffled_unit;
    return plan_cpu(canonical(dst, src), machine).chosen.kernel.family;
  };
  EXPECT_EQ(chosen(1, "u8 (3,2240,2240)", "u8 (3,2240,2240):(1,6720,3)"), Family::kChannels);
  EXPECT_NE(chosen(2, "u8 (3,2240,2240)", "u8 (3,2240,2240):(1,6720,3)"), Family::kChannels);
  EXPECT_EQ(chosen(2, "f16 (3,2240,2240)", "f16 (3,2240,2240):(1,6720,3)"), Family::kChannels);
  EXPECT_NE(chosen(1, "f32 (3,90000,64)", "f32 (3,90000,64):(1,195,3)"), Family::kChannels);
}

}  // namespace
}  // namespace restride::cpu
