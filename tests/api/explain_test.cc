#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "src/api/plan_impl.h"
#include "src/cpu/planner.h"
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
                    "traffic    reads 24576 bytes in 385 lines, writes 24576 bytes in 385 lines", "chosen     ",
                    "band_cols=64", "others     ",
                    "do not apply\n           run/units       the copy is not one run contiguous on both sides"));
}

TEST(Explain, SaysHowMuchMemoryMovesForElementsThatLieApart) {
  EXPECT_TRUE(
      holds(made("f32 (1000000,3)", "f32 (1000000,3):(16,1)").explain(),
            "traffic    reads 12000000 bytes in 1000001 lines (5.3 times the bytes), writes 12000000 bytes in\n"));
}

/// Why a family lost, on the machine that CpuMachine's defaults describe.
std::string reason(const plan::Decision& d, plan::Family family) {
  for (const plan::Candidate& k : d.others)
    if (k.kernel.family == family && k.applies) return api::why_lost(d, k);
  return "did not lose";
}

plan::Decision decided(std::string_view dst, std::string_view src, std::string_view forced = {}) {
  return cpu::plan_cpu(layout::canonicalize(parse_layout(dst), parse_layout(src), 64, 64, layout::UnitRule::kAnywhere),
                       {}, forced);
}

TEST(Explain, SaysWhereTheTimeOfEveryLoserGoes) {
  using plan::Family;
  const auto large = decided("f32 (4096,4096)", "f32 (4096,4096):(1,4096)");
  EXPECT_TRUE(holds(reason(large, Family::kRows), " behind: +", "for 15728640 more lines"));
  const auto bytes = decided("u8 (2048,2048)", "u8 (2048,2048):(1,2048)");
  EXPECT_TRUE(holds(reason(bytes, Family::kPacked), "lines again or out of order", "for starts", "for moving units"));
  const auto converted = decided("f16 (1000,1000)", "f32 (1000,1000)");
  EXPECT_EQ(reason(converted, Family::kRows), "12 ns behind: +12 ns for starts");
  EXPECT_EQ(reason(converted, Family::kGather), "4 ms behind: +4 ms for moving units");
}

/// Nanoseconds of a table's cell: "12.08 ms", "-".
double ns_of(const std::string& cell) {
  std::istringstream in(cell);
  double value = 0;
  std::string unit;
  if (!(in >> value >> unit)) return 0;
  return value * (unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1);
}

struct Loser {
  std::string kernel, line;
  double behind_ns = 0;
  std::vector<double> parts_ns;  ///< lines, starts, units
};

std::vector<Loser> losers_in(const std::string& explained) {
  std::vector<Loser> out;
  std::istringstream lines(explained);
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("others ", 0) == 0) in_table = true;
    if (line.rfind("do not apply", 0) == 0 || line.rfind("parameters", 0) == 0) in_table = false;
    if (!in_table) continue;
    line.resize(100, ' ');
    Loser loser{line.substr(11, 16), line, ns_of(line.substr(36, 10)), {}};
    for (const std::size_t end : {57, 67, 77}) loser.parts_ns.push_back(ns_of(line.substr(end - 10, 10)));
    out.push_back(loser);
  }
  return out;
}

TEST(Explain, SaysOfEveryLoserThatAppliesHowItsTimeIsMadeUp) {
  for (const char* src : {"f32 (128,128):(1,128)", "f32 (128,128):(-128,1)@16256", "u8 (128,128):(3,384)"}) {
    const std::string text = made("f32 (128,128)", src).explain();
    const std::vector<Loser> losers = losers_in(text);
    EXPECT_GE(losers.size(), 2u) << text;
    for (const Loser& loser : losers) {
      const double sum = loser.parts_ns[0] + loser.parts_ns[1] + loser.parts_ns[2];
      EXPECT_GT(loser.behind_ns, 0) << loser.line;
      EXPECT_NEAR(sum, loser.behind_ns, 2e-3 * loser.behind_ns) << loser.line;
    }
  }
}

TEST(Explain, SaysWhichLosersTouchMoreMemory) {
  const std::string text = made("f32 (4096,4096)", "f32 (4096,4096):(1,4096)").explain();
  for (const Loser& loser : losers_in(text))
    EXPECT_EQ(loser.line.find("reads 16777216 lines") != std::string::npos,
              loser.kernel.starts_with("rows") || loser.kernel.starts_with("gather"))
        << text;
}

TEST(Explain, GivesTheParametersOfTheChosenAlone) {
  Options model;
  model.device = DeviceKind::kCuda;
  model.cuda_device = kModelDevice;
  const Plan plan(parse_layout("f32 (4096,4096)"), parse_layout("f32 (4096,4096):(1,4096)"), model, 128, 128);
  const plan::Decision& d = plan.impl().decision;
  std::istringstream explained(plan.explain());
  std::string text;  // one space between words, however the lines are broken
  for (std::string word; explained >> word;) text.append(word).append(" ");
  const auto told = [&](const plan::Candidate& k) {
    std::string params;
    for (const plan::Param& p : k.params)
      params.append(plan::name(p.id)).append("=").append(std::to_string(p.value)).append(" ");
    return text.find(params) != std::string::npos;
  };
  EXPECT_TRUE(told(d.chosen)) << text;
  for (const plan::Candidate& k : d.others) {
    if (k.applies && !k.params.empty()) {
      EXPECT_FALSE(told(k)) << text;
    }
  }
}

TEST(Explain, FitsAHundredColumnsAndSaysNothingOverAndOver) {
  Options model;
  model.device = DeviceKind::kCuda;
  model.cuda_device = kModelDevice;
  for (const Options& options : {Options{}, model}) {
    for (const auto& [dst, src] :
         {std::pair{"f32 (4093,4097)", "f32 (4093,4097):(1,4093)"},
          {"f32 (27,27,27,27,27)", "f32 (27,27,27,27,27):(1,27,729,19683,531441)"},
          {"u8 (3,480,640)", "u8 (3,480,640):(1,1920,3)"},
          {"f16 (2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3)",
           "f16 (2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3):(1,2,6,12,36,72,216,432,1296,2592,7776,"
           "15552,46656,93312,279936,559872,1679616,3359232,10077696,20155392)"}}) {
      const std::string text = Plan(parse_layout(dst), parse_layout(src), options).explain();
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
      for (const char* phrase : {" bytes in ", "behind", "starts", "apply"}) {
        std::size_t count = 0;
        for (std::size_t at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + 1)) ++count;
        EXPECT_LE(count, 2u) << phrase << " in\n" << text;
      }
    }
  }
}

TEST(Explain, SaysThatAnotherWasAskedForWhereALoserIsFaster) {
  const auto forced = decided("f32 (1000,1000)", "f32 (1000,1000):(1,1000)", "rows");
  EXPECT_TRUE(holds(reason(forced, plan::Family::kTile), " ahead, but another was asked for"));
  EXPECT_TRUE(holds(made("f32 (4000,4000)", "f32 (4000,4000):(1,4000)", "rows").explain(), "ms  asked for, "));
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
  const auto d = cuda::plan_cuda(
      layout::canonicalize(parse_layout("f32 (4096,4096)"), parse_layout("f32 (4096,4096):(1,4096)"), 128, 128), {});
  EXPECT_TRUE(holds(reason(d, plan::Family::kRows), " behind: +", "sectors again or out of order"));
  EXPECT_TRUE(holds(reason(d, plan::Family::kGather), " behind: +", "for moving units"));
}

}  // namespace
}  // namespace restride
