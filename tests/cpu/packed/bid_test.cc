#include <gtest/gtest.h>

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
  constexpr std::string_view matrices[] = {"u8 (600000,11,9)", "u8 (600000,11,9):(99,1,11)"};
  constexpr std::string_view planes[] = {"f32 (3,10,410692)", "f32 (3,10,410692):(10,1,30)"};
  constexpr std::string_view several[] = {"f16 (12,60,28,84,16)", "f16 (12,60,28,84,16):(448,451584,16,5376,1)"};
  EXPECT_EQ(near(matrices[0], matrices[1], kZen4Machine), 1) << "tiles are one run of src";
  EXPECT_EQ(near(planes[0], planes[1], kZen4Machine), 1) << "so are records";
  EXPECT_EQ(near(several[0], several[1], kZen4Machine), 0);
  for (const auto& copy : {matrices, planes, several}) {
    EXPECT_EQ(near(copy[0], copy[1], kZen5Machine), 1) << copy[0];
    EXPECT_EQ(near(copy[0], copy[1], CpuMachine()), 0) << copy[0];
  }
}

}  // namespace
}  // namespace restride::cpu
