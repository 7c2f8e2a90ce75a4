#include "src/cuda/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "src/cuda/kernels.h"
#include "src/cuda/planner.h"
#include "tests/property/random_layout.h"
#include "tests/support/throws.h"

namespace restride::cuda {
namespace {

using test::holds;
using test::message_of;

constexpr base::JsonLimits kLimits{1 << 20, 8};

TEST(CudaNumbers, NameEachNumberOnce) {
  std::set<std::string_view> names, staged;
  for (const auto& n : kCostNumbers) EXPECT_TRUE(names.insert(n.name).second) << n.name;
  for (const auto& n : kStagedCostNumbers) EXPECT_TRUE(staged.insert(n.name).second) << n.name;
  EXPECT_EQ(sizeof(Costs), names.size() * sizeof(double) + 4 * sizeof(StagedCosts)) << "every number has a name";
}

TEST(CudaNumbers, LieInTheRangesOfAFile) {
  for (const Costs& of : {kH200Costs, kH100Costs})
    for (const auto& n : kCostNumbers) {
      EXPECT_GE(of.*n.real, plan::range_of(n.name).least) << n.name;
      EXPECT_LE(of.*n.real, plan::range_of(n.name).most) << n.name;
    }
}

CudaMachine gpu(int major, int minor, double bytes_per_ns) {
  CudaMachine m;
  m.cc_major = major;
  m.cc_minor = minor;
  m.copy_bytes_per_ns = bytes_per_ns;
  return m;
}

TEST(NearestGpu, IsOfTheClosestCapabilityThenOfTheClosestBandwidth) {
  const GpuNumbers own[] = {{"slow", 8, 0, 500, {}}, {"fast", 8, 0, 2000, {}}, {"mine", 9, 0, 4250, {}}};
  const auto nearest = [&](CudaMachine m, std::span<const GpuNumbers> of) {
    take_nearest_costs(of, &m);
    return m.name;
  };
  EXPECT_EQ(nearest(gpu(8, 0, 600), own), "slow");
  EXPECT_EQ(nearest(gpu(8, 0, 1300), own), "fast");
  EXPECT_EQ(nearest(gpu(7, 5, 1300), own), "fast");
  EXPECT_EQ(nearest(gpu(8, 9, 4000), own), "mine") << "a tenth of a capability away";
  EXPECT_EQ(nearest(gpu(9, 0, 4250), own), "mine") << "before the one that restride knows";
  EXPECT_EQ(nearest(gpu(8, 0, 600), {}), "NVIDIA H100");
  EXPECT_EQ(nearest(gpu(9, 0, 4000), {}), "NVIDIA H200");
}

TEST(GpuAsText, ComesBack) {
  GpuNumbers mine{"mine", 8, 9, 300.25, kH200Costs};
  mine.costs.launch_ns = 1234.5;
  mine.costs.chains_idle_power = -0.125;
  mine.costs.staged_words.run = 7;
  const base::JsonValue in = base::parse_json(to_json(mine), kLimits);
  const GpuNumbers again = gpu_numbers_from(in);
  EXPECT_EQ(to_json(again), to_json(mine));
  EXPECT_EQ(again.cc_minor, 9);
  EXPECT_EQ(again.costs.launch_ns, 1234.5);
  EXPECT_EQ(again.costs.staged_words.run, 7);
  EXPECT_EQ(again.costs.staged_bytes.run, kH200Costs.staged_bytes.run);
}

TEST(GpuAsText, SaysWhatIsWrongWithIt) {
  const auto why = [](const std::string& more) {
    return message_of<ParseError>([&] {
      gpu_numbers_from(
          base::parse_json(R"({"name":"m","cc_major":8,"cc_minor":0,"copy_bytes_per_ns":900)" + more + "}", kLimits));
    });
  };
  EXPECT_TRUE(holds(why(R"(,"launch":1)"), "'launch' is no number of a GPU's"));
  EXPECT_TRUE(holds(why(R"(,"launch_ns":-1)"), "'launch_ns' is no number of 0 to 1e+09"));
  EXPECT_TRUE(holds(why(R"(,"staged_bytes":3)"), "'staged_bytes' is no object"));
  EXPECT_TRUE(holds(why(R"(,"staged_bytes":{"x":3})"), "'x' is no number of a GPU's"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { gpu_numbers_from(base::parse_json(R"({"name":"m"})", kLimits)); }),
                    "a GPU needs 'cc_major'"));
}

/// Costs from all over their ranges.
template <class Of, std::size_t kCount>
void scatter(const plan::Number<Of> (&numbers)[kCount], std::mt19937_64& rng, Of* of) {
  for (const plan::Number<Of>& n : numbers) {
    const plan::NumberRange range = plan::range_of(n.name);
    switch (rng() % 4) {
      case 0: of->*n.real = range.least; break;
      case 1: of->*n.real = range.most; break;
      default: of->*n.real = std::clamp(std::exp2(static_cast<double>(rng() % 30) - 15), range.least, range.most);
    }
  }
}

TEST(AnyGpu, PreparesPlanesShorterThanAWord) {
  Costs costs;
  costs.records_least_used = 0;
  CudaMachine machine;
  machine.costs = &costs;
  for (int points = 1; points <= 9; ++points) {
    const auto canonical = layout::canonicalize(
        parse_layout(fmt::format("f32 (500,5,{})", points)),
        parse_layout(fmt::format("f32 (500,5,{}):({},1,5)", points, 5 * points)), 4, 4, layout::UnitRule::kAligned);
    const plan::Decision d = plan_cuda(canonical, machine, points < 2 ? "" : "packed/planes");
    EXPECT_NO_THROW(prepare_cuda(canonical, d)) << points << ": " << d.chosen.kernel.text;
  }
}

TEST(AnyGpu, HasPlansThatCanBePrepared) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 numbers(seed);
    Costs costs;
    scatter(kCostNumbers, numbers, &costs);
    for (StagedCosts* staged : {&costs.staged_bytes, &costs.staged_halves, &costs.staged_wider, &costs.staged_words})
      scatter(kStagedCostNumbers, numbers, staged);
    CudaMachine machine;
    machine.costs = &costs;
    test::Rng rng(seed);
    const test::Case c = test::random_case(rng, {});
    if (c.dst.elements() == 0) continue;
    const std::int64_t align = std::int64_t{1} << numbers() % 8;
    layout::Canonical canonical;
    try {
      canonical = layout::canonicalize(c.dst, c.src, align, align, layout::UnitRule::kAligned);
    } catch (const Error&) {
      continue;
    }
    SCOPED_TRACE(fmt::format("{}: {} -> {}", seed, to_string(c.src), to_string(c.dst)));
    const plan::Decision d = plan_cuda(canonical, machine);
    EXPECT_NO_THROW(prepare_cuda(canonical, d)) << d.chosen.kernel.text;
  }
}

}  // namespace
}  // namespace restride::cuda
