#include "tools/tune/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "src/api/machines.h"
#include "src/cpu/machine.h"
#include "src/cpu/numbers.h"
#include "src/cpu/planner.h"
#include "tools/tune/clock.h"

namespace restride::tune {
namespace {

using plan::Decision;
using plan::ParamId;

/// A machine of our own making: what a plan takes is a function of it, with noise of this much that never repeats.
class FakeClock final : public Clock {
 public:
  using Time = double (*)(const Decision&);
  explicit FakeClock(Time of_plan, double noise = 0, int most = 1 << 20)
      : of_plan_(of_plan), noise_(noise), most_(most) {}
  double time(std::size_t, const Decision& d) override {
    ++calls;
    return of_plan_(d) * (1 + noise_ * std::sin(calls * 12.9898));
  }
  bool is_over() override { return calls >= most_; }
  int calls = 0;

 private:
  Time of_plan_;
  double noise_;
  int most_;
};

std::vector<layout::Canonical> fit_layouts() { return canonical_forms(shipped_layouts("fit"), DeviceKind::kCpu); }

bool is_tile(const Decision& d) { return d.chosen.kernel.text == "tile/units"; }

const Change* change(const Fit<cpu::CpuMachine>& fit, std::string_view number) {
  for (const Change& c : fit.changes)
    if (c.number == number) return &c;
  return nullptr;
}

TEST(Fit, FindsTheShapeThatAMachineIsFastestWith) {
  FakeClock clock([](const Decision& d) { return is_tile(d) && d.chosen.get(ParamId::kNear) != 0 ? 2.0 : 1.0; });
  const Fit<cpu::CpuMachine> fit = tune::fit(cpu::kZen5Machine, fit_layouts(), clock);
  EXPECT_TRUE(fit.complete);
  EXPECT_FALSE(fit.machine.tile_near);
  EXPECT_TRUE(fit.machine.near) << "rows gain nothing by it";
  const Change* near = change(fit, "tile_near");
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(near->was, 1);
  EXPECT_EQ(near->is, 0);
  EXPECT_GT(near->layouts, 5);
  EXPECT_GT(near->gain, 1.5) << "tiles of records change, too, and gain nothing";
}

TEST(Fit, LetsTheFasterKernelWin) {
  FakeClock clock([](const Decision& d) { return d.chosen.kernel.family == plan::Family::kBuffered ? 3.0 : 1.0; });
  const std::vector<layout::Canonical> layouts = fit_layouts();
  const auto buffered = [&](const cpu::CpuMachine& m) {
    int n = 0;
    for (const auto& c : layouts) n += cpu::plan_cpu(c, m).chosen.kernel.family == plan::Family::kBuffered ? 1 : 0;
    return n;
  };
  const Fit<cpu::CpuMachine> fit = tune::fit(cpu::CpuMachine(), layouts, clock);
  ASSERT_GT(buffered(cpu::CpuMachine()), 0);
  EXPECT_LT(buffered(fit.machine), buffered(cpu::CpuMachine()));
}

TEST(Fit, KeepsTheNumbersWhereAllPlansAreAsFast) {
  FakeClock clock([](const Decision&) { return 1.0; }, 0.01);
  const Fit<cpu::CpuMachine> fit = tune::fit(cpu::kZen5Machine, fit_layouts(), clock);
  EXPECT_EQ(fit.machine, cpu::kZen5Machine);
  EXPECT_TRUE(fit.changes.empty());
}

TEST(Fit, FindsTheSameNumbersAgainWithNoise) {
  const auto once = [](double noise) {
    FakeClock clock(
        [](const Decision& d) {
          return is_tile(d) && d.chosen.get(ParamId::kNear) != 0 ? 1.3
                 : d.chosen.kernel.text == "packed/staged"       ? 1.2
                                                                 : 1.0;
        },
        noise);
    return tune::fit(cpu::kZen5Machine, fit_layouts(), clock).machine;
  };
  EXPECT_EQ(once(0.004), once(0));
}

TEST(Fit, StopsWhenItsTimeIsOver) {
  FakeClock clock([](const Decision&) { return 1.0; }, 0, 10);
  const Fit<cpu::CpuMachine> fit = tune::fit(cpu::kZen5Machine, fit_layouts(), clock);
  EXPECT_FALSE(fit.complete);
  EXPECT_LT(fit.timed, 200);
}

std::vector<layout::Canonical> gpu_layouts() { return canonical_forms(shipped_layouts("gpu_fit"), DeviceKind::kCuda); }

/// True of a kernel that is chosen on some of these layouts though others are predicted to be nearly as fast.
bool has_rivals(const Decision& d) { return d.chosen.kernel.text == "tile/unaligned_chains"; }

TEST(Fit, OfAGpuLetsTheFasterKernelWin) {
  FakeClock clock([](const Decision& d) { return has_rivals(d) ? 3.0 : 1.0; }, 0.004);
  const std::vector<layout::Canonical> layouts = gpu_layouts();
  const auto count = [&](const Gpu& gpu) {
    return std::count_if(layouts.begin(), layouts.end(), [&](const auto& c) { return has_rivals(plan(c, gpu)); });
  };
  const Gpu start{{}, cuda::kH200Costs};
  const Fit<Gpu> fit = tune::fit(start, layouts, clock);
  EXPECT_TRUE(fit.complete);
  ASSERT_GT(count(start), 0);
  EXPECT_LT(count(fit.machine), count(start));
  EXPECT_FALSE(fit.changes.empty());
}

TEST(Fit, OfAGpuKeepsTheNumbersWhereAllPlansAreAsFast) {
  FakeClock clock([](const Decision&) { return 1.0; }, 0.01);
  EXPECT_TRUE(tune::fit(Gpu{{}, cuda::kH200Costs}, gpu_layouts(), clock).changes.empty());
}

TEST(Fit, IsReadBackFromTheFileAsItIs) {
  FakeClock clock([](const Decision& d) { return is_tile(d) && d.chosen.get(ParamId::kNear) != 0 ? 2.0 : 1.0; });
  Fit<cpu::CpuMachine> fit = tune::fit(cpu::kZen5Machine, fit_layouts(), clock);
  fit.machine.name = "mine, tuned";
  const api::MachineFile file(api::machine_file_text(&fit.machine, {}));
  for (const auto& n : cpu::kCpuNumbers) EXPECT_EQ(number(*file.cpu(), n.name), number(fit.machine, n.name)) << n.name;
}

TEST(ShippedLayouts, AreForFittingOrForChecking) {
  EXPECT_GE(shipped_layouts("fit").size(), 40U);
  EXPECT_GE(shipped_layouts("check").size(), 12U);
  EXPECT_GE(shipped_layouts("gpu_fit").size(), 45U);
  EXPECT_GE(shipped_layouts("gpu_check").size(), 15U);
  for (const char* of : {"fit", "check", "gpu_fit", "gpu_check"})
    for (const bench::Case& c : shipped_layouts(of)) EXPECT_EQ(c.error, "") << c.spec.name;
}

}  // namespace
}  // namespace restride::tune
