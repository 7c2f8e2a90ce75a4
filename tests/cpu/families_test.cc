#include "src/cpu/families.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/api/plan_impl.h"
#include "tests/support/plan_text.h"

namespace restride::cpu {
namespace {

TEST(CpuKernels, AreNamedAfterTheirFamilyAndOneRowEach) {
  std::set<std::string_view> names;
  for (const Kernel& k : kKernels) {
    EXPECT_EQ(k.name.text.substr(0, k.name.text.find('/')), plan::name(k.name.family));
    EXPECT_TRUE(names.insert(k.name.text).second) << k.name.text;
  }
}

TEST(CpuKernels, OfAFamilyFollowEachOtherAndBidTogether) {
  for (std::size_t i = 1; i < kKernelCount; ++i)
    EXPECT_EQ(kKernels[i].bid == kKernels[i - 1].bid, kKernels[i].name.family == kKernels[i - 1].name.family)
        << kKernels[i].name.text;
}

TEST(CpuKernels, AreEachChosenWhereTheyAreAskedFor) {
  const struct {
    const char* kernel;
    const char* dst;
    const char* src;
  } copies[] = {
      {"run/units", "f32 (1000)", "f32 (1000)"},
      {"run/pieces", "f32 (1000)", "f32 (1000)"},
      {"rows/units", "u8 (5,77,3)", "u8 (5,77,3):(308,4,1)"},
      {"rows/records", "u8 (5,77,3)", "u8 (5,77,3):(308,4,1)"},
      {"packed/staged", "f32 (37,7,5)", "f32 (37,7,5):(35,1,7)"},
      {"tile/units", "f32 (32,64)", "f32 (32,64):(1,32)"},
      {"tile/units", "f32 (2048,2048)", "f32 (2048,2048):(1,2048)"},
      {"tile/matrices", "f32 (32,64)", "f32 (32,64):(1,32)"},
      {"tile/matrices", "f32 (2048,2048)", "f32 (2048,2048):(1,2048)"},
      {"tile/records", "u8 (64,96,3)", "u8 (64,96,3):(3,192,1)"},
      {"buffered/blocks", "f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)"},
      {"channels/split", "u8 (3,500)", "u8 (3,500):(1,3)"},
      {"channels/join", "u8 (500,3)", "u8 (500,3):(1,500)"},
      {"gather/units", "f32 (2,3):(4,1)", "f32 (2,3):(1,2)"},
  };
  std::set<std::string_view> chosen;
  for (const auto& copy : copies) {
    const Plan plan = test::made(copy.dst, copy.src, copy.kernel);
    EXPECT_EQ(plan.kernel(), copy.kernel);
    EXPECT_EQ(Plan::deserialize(plan.serialize()).kernel(), copy.kernel);
    chosen.insert(copy.kernel);
  }
  EXPECT_EQ(chosen.size(), kKernelCount);
}

TEST(CpuArgs, OfManyModesAreCopiedWhole) {
  // Twenty modes that no family merges: more than lie inside the arguments themselves.
  std::string ones, strides;
  for (int i = 0; i < 20; ++i) {
    ones += i == 0 ? "2" : ",2";
    strides += fmt::format("{}{}", i == 0 ? "" : ",", std::int64_t{1} << 7 * i % 20);
  }
  const std::string shape = fmt::format("u8 ({})", ones);
  const Plan plan = test::made(shape, fmt::format("{}:({})", shape, strides), "gather");
  const auto again = api::with_decision(plan.impl(), plan.impl().decision);
  const Plan::Impl copy = *again;  // outlives neither
  const GatherArgs* a = plan.impl().cpu.of<GatherArgs>();
  const GatherArgs* b = copy.cpu.of<GatherArgs>();
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  ASSERT_GT(a->nest.rank(), 8);
  ASSERT_EQ(a->nest.rank(), b->nest.rank());
  EXPECT_NE(a->nest.begin(), b->nest.begin());
  for (int i = 0; i < a->nest.rank(); ++i) EXPECT_EQ(a->nest[i], b->nest[i]);
}

}  // namespace
}  // namespace restride::cpu
