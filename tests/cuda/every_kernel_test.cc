// The copies that the sanitizers run on a GPU (tests/gpu/every_kernel.h): each goes to the kernel that it is named
// after, no kernel is without one, and rings come round.
#include "tests/gpu/every_kernel.h"

#include <gtest/gtest.h>

#include <set>

namespace restride::test {
namespace {

TEST(EveryKernel, HasACopyThatGoesToIt) {
  std::set<std::string> named;
  for (const KernelCase& c : kernel_cases()) {
    EXPECT_NO_THROW(EXPECT_EQ(kernel_of(plan_of(c, kModelDevice).impl().cuda), c.kernel));
    EXPECT_TRUE(named.insert(c.kernel).second) << c.kernel << " is there twice";
  }
}

TEST(EveryKernel, IsInTheList) {
  std::set<std::string> named;
  for (const KernelCase& c : kernel_cases()) named.insert(c.kernel.substr(0, c.kernel.find(' ')));
  for (const cuda::Kernel& k : cuda::kernels()) EXPECT_EQ(named.count(std::string(k.name.text)), 1u) << k.name.text;
}

TEST(EveryKernel, RingsOfStagesComeRoundTwice) {
  int rings = 0;
  for (const KernelCase& c : kernel_cases()) {
    if (!c.kernel.starts_with("tile/bulk ring")) continue;
    ++rings;
    const Plan plan = plan_of(c, kModelDevice);
    const auto& [tile, stages] = std::get<cuda::BulkTileArgs>(plan.impl().cuda.args);
    EXPECT_GT(stages, 1);
    EXPECT_GE(tile.tiles, 2u * static_cast<unsigned>(stages) * tile.blocks) << c.kernel;
  }
  EXPECT_EQ(rings, 2);
}

}  // namespace
}  // namespace restride::test
