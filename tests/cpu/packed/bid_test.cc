#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "src/cpu/planner.h"

namespace restride::cpu {
namespace {

TEST(CpuPacked, AZen4PrefetchesTilesOfSeveralRunsIntoTheSecondCache) {
  const auto near = [](std::string_view dst, std::string_view src, const CpuMachine& machine) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    return plan_cpu(c, machine, "packed/staged", 1).chosen.get(ParamId::kNear);
  };
  constexpr std::string_view matrices[] = {"u8 (120000,29,17)", "u8 (120000,29,17):(493,1,29)"};
  constexpr std::string_view repeats[] = {"u8 (600000,11,9)", "u8 (600000,11,9):(99,1,11)"};
  constexpr std::string_view planes[] = {"f32 (3,10,410692)", "f32 (3,10,410692):(10,1,30)"};
  constexpr std::string_view several[] = {"f16 (12,60,28,84,16)", "f16 (12,60,28,84,16):(448,451584,16,5376,1)"};
  EXPECT_EQ(near(matrices[0], matrices[1], kZen4Machine), 1) << "tiles are one run of src";
  EXPECT_EQ(near(repeats[0], repeats[1], kZen4Machine), 0) << "repeats are prefetched far ahead";
  EXPECT_EQ(near("f64 (4000,41,5,5)", "f64 (4000,41,5,5):(3525,25,1,5)", kZen4Machine), 1) << "src has gaps";
  EXPECT_EQ(near(planes[0], planes[1], kZen4Machine), 1) << "so are records";
  EXPECT_EQ(near(several[0], several[1], kZen4Machine), 0);
  for (const auto& copy : {matrices, repeats, planes, several}) {
    EXPECT_EQ(near(copy[0], copy[1], kZen5Machine), 1) << copy[0];
    EXPECT_EQ(near(copy[0], copy[1], CpuMachine()), 0) << copy[0];
  }
}

TEST(CpuPacked, SmallMatricesOfABatchAreRepeatsPastTheCaches) {
  const auto kernel = [](std::string_view dst, std::string_view src) {
    const layout::Canonical c =
        layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere);
    return std::string(plan_cpu(c, kZen4Machine).chosen.kernel.text);
  };
  EXPECT_EQ(kernel("f32 (300000,7,7)", "f32 (300000,7,7):(49,1,7)"), "packed/staged");
  EXPECT_EQ(kernel("f64 (500000,5,5)", "f64 (500000,5,5):(25,1,5)"), "packed/staged");
  EXPECT_EQ(kernel("f32 (60000,17,19)", "f32 (60000,17,19):(323,1,17)"), "tile/matrices") << "longer than four vectors";
}

}  // namespace
}  // namespace restride::cpu
