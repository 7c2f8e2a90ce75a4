#include <gtest/gtest.h>

#include <sstream>

#include "src/api/plan_impl.h"
#include "src/plan/cpu_planner.h"
#include "tests/support/plan_text.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::made;

TEST(Explain, ShowsTheCanonicalFormTheChoiceAndWhatLost) {
  EXPECT_TRUE(holds(made("f32 (64,96)", "f32 (64,96):(1,64)").explain(), "src        f32 (64,96):(1,64)",
                    "dst        f32 (64,96):(96,1)",
                    "canonical  unit 4: (96,64) dst (4,384)b src (256,4)b, innermost first", "device     cpu, 1 thread",
                    "chosen     ", "tile_rows=", "others     ",
                    "run      does not apply: the copy is not one run contiguous on both sides"));
}

/// Why a family lost, on the machine that CpuMachine's defaults describe.
std::string reason(const plan::Decision& d, plan::Family family) {
  for (const plan::Candidate& k : d.others)
    if (k.family == family && k.applies) return api::why_lost(d, k);
  return "did not lose";
}

plan::Decision decided(std::string_view dst, std::string_view src, std::string_view forced = {}) {
  return plan::plan_cpu(layout::canonicalize(parse_layout(dst), parse_layout(src), 64, 64, layout::UnitRule::kAnywhere),
                        {}, forced);
}

TEST(Explain, SaysWhereTheTimeOfEveryLoserGoes) {
  using plan::Family;
  const auto large = decided("f32 (4096,4096)", "f32 (4096,4096):(1,4096)");
  EXPECT_TRUE(holds(reason(large, Family::kRows), " behind: +", "for 15728640 more lines"));
  const auto small = decided("f32 (128,128)", "f32 (128,128):(1,128)");
  EXPECT_TRUE(holds(reason(small, Family::kPacked), "lines again or out of order", "for starts", "for moving units"));
  const auto converted = decided("f16 (1000,1000)", "f32 (1000,1000)");
  EXPECT_EQ(reason(converted, Family::kRows), "6 ns behind: +6 ns for starts");
  EXPECT_EQ(reason(converted, Family::kGather), "1 ms behind: +1 ms for moving units");
}

TEST(Explain, GivesEveryLoserThatAppliesItsReason) {
  const Plan plan = made("f32 (128,128)", "f32 (128,128):(1,128)");
  std::istringstream lines(plan.explain());
  int losers = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find(" lines for ") != std::string::npos && line.rfind("chosen", 0) != 0) {
      ++losers;
      EXPECT_NE(line.find(" behind: +"), std::string::npos) << line;
    }
  EXPECT_GE(losers, 3);
}

TEST(Explain, SaysThatAnotherWasAskedForWhereALoserIsFaster) {
  const auto forced = decided("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", "rows");
  EXPECT_TRUE(holds(reason(forced, plan::Family::kTile), " ahead, but another was asked for"));
}

TEST(Explain, GoesByWhatWasMeasured) {
  auto d = decided("f32 (8,64)", "f32 (8,64):(1,8)");
  d.chosen.measured_ns = 100;
  d.others[0].measured_ns = 130;
  EXPECT_EQ(api::why_lost(d, d.others[0]), "30 ns behind when measured");
  d.others[0].measured_ns = 99;
  EXPECT_TRUE(holds(api::why_lost(d, d.others[0]), "1 ns ahead when measured, too little"));
}

TEST(Explain, SaysOfGpuLosersWhatTheyLose) {
  const auto d = plan::plan_cuda(
      layout::canonicalize(parse_layout("f32 (4096,4096)"), parse_layout("f32 (4096,4096):(1,4096)"), 128, 128), {});
  EXPECT_TRUE(holds(reason(d, plan::Family::kRows), " behind: +", "sectors again or out of order"));
  EXPECT_TRUE(holds(reason(d, plan::Family::kGather), " behind: +", "for moving units"));
}

}  // namespace
}  // namespace restride
