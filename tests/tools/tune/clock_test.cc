#include "tools/tune/clock.h"

#include <gtest/gtest.h>

#include "src/cpu/machine.h"
#include "src/cpu/planner.h"

namespace restride::tune {
namespace {

TEST(DeviceClock, TimesEveryKernelThatApplies) {
  std::vector<bench::Case> cases = shipped_layouts("check");
  cases.erase(cases.begin() + 1, cases.end());
  const std::vector<layout::Canonical> layouts = canonical_forms(cases, DeviceKind::kCpu);
  DeviceClock clock(bench::make_cpu_device(2), cases, 0);
  EXPECT_TRUE(clock.is_over());
  const plan::Decision d = cpu::plan_cpu(layouts[0], cpu::this_cpu());
  EXPECT_GT(clock.time(0, d), 0);
  for (const plan::Candidate& k : d.others) {
    if (!k.applies) continue;
    plan::Decision other = d;
    other.chosen = k;
    EXPECT_GT(clock.time(0, other), 0) << k.kernel.text << " writes the same bytes";
  }
}

}  // namespace
}  // namespace restride::tune
