// Planning is arithmetic on whatever layouts somebody writes down, also on those that no memory holds: `explain` is
// asked about them, and a planner that overflows there is undefined behaviour in every caller that links it.
#include <gtest/gtest.h>

#include <vector>

#include <restride/restride.hpp>

#include "src/api/plan_impl.h"
#include "src/cpu/planner.h"
#include "src/cuda/planner.h"
#include "src/layout/canonical.h"
#include "tests/support/huge_layouts.h"

namespace restride {
namespace {

void expect_sane(const plan::Candidate& k) {
  EXPECT_GE(k.predicted.time_ns, 0);
  EXPECT_GE(k.predicted.read_sectors, 0);
  EXPECT_GE(k.predicted.written_sectors, 0);
  for (const plan::Param& p : k.params) {
    const bool mode = p.id == plan::ParamId::kRowMode || p.id == plan::ParamId::kColMode;  // -1: there is none
    EXPECT_GE(p.value, mode ? -1 : 0) << k.kernel.text << ' ' << plan::name(p.id);
  }
}

void plan_everywhere(const Layout& dst, const Layout& src) {
  const layout::Canonical cpu = layout::canonicalize(dst, src, 64, 64);
  const layout::Canonical cuda = layout::canonicalize(dst, src, 64, 64, layout::UnitRule::kAligned);
  for (const plan::Decision& decision : {cpu::plan_cpu(cpu, {}), cuda::plan_cuda(cuda, {})}) {
    EXPECT_TRUE(decision.chosen.applies);
    expect_sane(decision.chosen);
    for (const plan::Candidate& k : decision.others) expect_sane(k);
    if (testing::Test::HasFailure()) FAIL() << to_string(dst) << " <- " << to_string(src);
  }
}

TEST(Planners, ArePlainArithmeticUpToTheLargestLayouts) {
  test::HugeLayouts huge(3);
  int planned = 0;
  for (int i = 0; i < 100000; ++i) {
    try {
      const auto [dst, src] = huge.next();
      plan_everywhere(dst, src);
      ++planned;
    } catch (const RangeError&) {    // too large to be written down
    } catch (const OverlapError&) {  // more than the search can settle
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(planned, 50000);
}

TEST(Planners, PlanTheLargestLayoutsThereAre) {
  for (const std::int64_t n : {kMaxBytes, kMaxBytes - 1, kMaxBytes - 64})
    plan_everywhere(contiguous(DType::kU8, {n}), contiguous(DType::kU8, {n}));
  const std::int64_t rows = 2097151, cols = 549755813888;
  plan_everywhere(contiguous(DType::kU8, {rows, cols}),
                  strided(DType::kU8, std::vector{rows, cols}, std::vector{std::int64_t{1}, rows}));
  EXPECT_THROW(contiguous(DType::kU8, {kMaxBytes + 1}), RangeError);
}

TEST(Planners, ExabytesArePredictedInPositiveTime) {
  const Plan plan(parse_layout("u8 (1152921504606846976)"), parse_layout("u8 (1152921504606846976)"));
  EXPECT_EQ(plan.family(), "run");
  const std::string text = plan.explain();
  const plan::Decision& decision = plan.impl().decision;
  EXPECT_GT(decision.chosen.predicted.time_ns, 0) << text;
  for (const plan::Candidate& k : decision.others) EXPECT_TRUE(!k.applies || k.predicted.time_ns > 0) << text;
}

TEST(Planners, ExabytesOfSectorsAreCountedInFull) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  const std::string text =
      Plan(parse_layout("u8 (288230376151711744,3)"), parse_layout("u8 (288230376151711744,3):(0,-1)@2"), options)
          .explain();
  EXPECT_NE(text.find("chosen     gather"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 1 sector,"), std::string::npos) << text;
}

}  // namespace
}  // namespace restride
