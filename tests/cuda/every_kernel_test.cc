// The copies that the sanitizers run on a GPU (tests/gpu/every_kernel.h): each goes to the kernel that it is named
// after, no kernel is without one, and rings come round.
#include "tests/gpu/every_kernel.h"

#include <gtest/gtest.h>

#include <filesystem>
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
  std::set<std::string> files;
  for (const KernelCase& c : kernel_cases()) files.insert(c.kernel.substr(0, c.kernel.find(' ')));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RESTRIDE_TEST_DATA "/../src/cuda")) {
    const std::filesystem::path& path = entry.path();
    const std::string family = path.parent_path().filename().string();
    if (path.extension() != ".cu" || family == "runtime") continue;
    EXPECT_EQ(files.count(family + '_' + path.stem().string()), 1u) << path;
  }
}

TEST(EveryKernel, RingsOfStagesComeRoundTwice) {
  int rings = 0;
  for (const KernelCase& c : kernel_cases()) {
    if (!c.kernel.starts_with("tile_bulk ring")) continue;
    ++rings;
    const Plan plan = plan_of(c, kModelDevice);
    const auto& tile = std::get<cuda::TileArgs>(plan.impl().cuda.args);
    EXPECT_GT(plan.impl().cuda.key.stages, 1);
    EXPECT_GE(tile.tiles, 2u * plan.impl().cuda.key.stages * tile.blocks) << c.kernel;
  }
  EXPECT_EQ(rings, 2);
}

}  // namespace
}  // namespace restride::test
