#include "tools/bench/runner.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tools/bench/cpu_device.h"
#include "tools/bench/plain_copy.h"
#include "tools/bench/shipped.h"

namespace restride::bench {
namespace {

RunSettings quick() {
  RunSettings settings;
  settings.reps = 1;
  return settings;
}

TEST(PlainCopy, CopiesEveryLengthAndAlignment) {
  std::vector<char> from(3000), to(3000), expected(3000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
  for (const int offset : {0, 1, 63, 64})
    for (const int bytes : {0, 1, 63, 255, 256, 1000, 2800}) {
      std::fill(to.begin(), to.end(), 0);
      expected = to;
      std::memcpy(expected.data() + offset, from.data() + 5, static_cast<std::size_t>(bytes));
      copy_streaming(to.data() + offset, from.data() + 5, bytes);
      ASSERT_EQ(to, expected) << offset << " " << bytes;
    }
}

TEST(RunCase, ChecksAndTimesEveryShippedCaseOnTheCpu) {
  CpuDevice device(2);
  for (const char* file : {"field", "ttc57", "extra"}) {
    for (const CaseSpec& spec : parse_case_file(*shipped_cases(file), file).cases) {
      const CaseResult r = run_case(build_case(scale_to(spec, 64 << 10)), device, quick());
      EXPECT_EQ(r.error, "") << spec.name;
      EXPECT_TRUE(r.checked) << spec.name;
      EXPECT_GT(r.ratio(), 0) << spec.name;
      EXPECT_GT(r.plan_ns, 0) << spec.name;
      EXPECT_GT(r.copy_ns, 0) << spec.name;
    }
  }
}

TEST(RunCase, SkipsAForcedFamilyThatDoesNotApply) {
  CpuDevice device(1);
  RunSettings settings = quick();
  settings.family = "run";
  const CaseSpec spec =
      parse_case_file(R"({"cases": [{"name": "t", "shape": [64, 64], "axes": [1, 0]}]})", "f").cases[0];
  const CaseResult r = run_case(build_case(spec), device, settings);
  EXPECT_TRUE(r.skipped) << r.error;
  EXPECT_NE(r.error, "");
}

TEST(RunCase, SkipsACaseWithoutElements) {
  CpuDevice device(1);
  const CaseSpec spec = parse_case_file(R"({"cases": [{"name": "t", "shape": [64, 0]}]})", "f").cases[0];
  const CaseResult r = run_case(build_case(spec), device, quick());
  EXPECT_TRUE(r.skipped);
  EXPECT_NE(r.error.find("an extent is 0"), std::string::npos) << r.error;
  EXPECT_EQ(r.ratio(), 0);
}

TEST(RunCase, HoldsPeersToTheSameCheck) {
  CpuDevice device(1);
  RunSettings settings = quick();
  settings.peers = true;
  const CaseSpec spec =
      parse_case_file(R"({"cases": [{"name": "t", "shape": [64, 48], "axes": [1, 0]}]})", "f").cases[0];
  const CaseResult r = run_case(build_case(spec), device, settings);
  EXPECT_EQ(r.error, "");
  EXPECT_TRUE(r.peers.contains("naive"));
  EXPECT_TRUE(r.peer_notes.empty());
}

}  // namespace
}  // namespace restride::bench
