#include "tools/bench/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <restride/error.hpp>

#include "tools/bench/bench.h"
#include "tools/bench/timing.h"

namespace restride::bench {
namespace {

CaseResult result_of(const std::string& name, const std::string& case_class, double ratio, int threads = 1) {
  CaseResult r;
  r.name = name;
  r.case_class = case_class;
  r.device = "cpu";
  r.threads = threads;
  r.bytes = 1000;
  r.time.median_ns = 100 / ratio;
  r.ceiling.median_ns = 100;
  return r;
}

TEST(Timing, TakesTheMedianAndTheRelativeInterquartileRange) {
  const Timing t = summarize({5, 1, 2, 4, 3});
  EXPECT_DOUBLE_EQ(t.median_ns, 3);
  EXPECT_DOUBLE_EQ(t.noise, 2.0 / 3);
  EXPECT_DOUBLE_EQ(summarize({7}).median_ns, 7);
  EXPECT_DOUBLE_EQ(summarize({}).median_ns, 0);
}

TEST(ClassSummary, GivesGeometricMeanAndWorstByClassAndThreads) {
  std::vector<CaseResult> results = {result_of("a", "x", 0.5), result_of("b", "x", 0.125), result_of("c", "y", 1.0),
                                     result_of("a", "x", 0.9, 2)};
  results.push_back(result_of("d", "x", 0.01));
  results.back().error = "wrong";
  const std::vector<ClassSummary> s = summarize_classes(results);
  ASSERT_EQ(s.size(), 5u);
  EXPECT_EQ(s[0].case_class, "x");
  EXPECT_EQ(s[0].cases, 2);
  EXPECT_EQ(s[0].failed, 1);
  EXPECT_NEAR(s[0].geometric_mean, 0.25, 1e-12);
  EXPECT_NEAR(s[0].worst, 0.125, 1e-12);
  EXPECT_EQ(s[0].worst_case, "b");
  EXPECT_EQ(s[2].threads, 2);
  EXPECT_EQ(s[3].case_class, "all");
  EXPECT_EQ(s[3].cases, 3);
}

TEST(ClassSummary, HasNoRatioWhereNothingWasMeasured) {
  CaseResult r = result_of("a", "x", 0.5);
  r.error = "declined";
  r.skipped = true;
  const std::string table = summary_table(summarize_classes({r}));
  EXPECT_EQ(table.find("0.000"), std::string::npos) << table;
  EXPECT_NE(table.find(" - "), std::string::npos) << table;
}

TEST(SelectCases, FiltersByNameClassAndGlobAndRunsElementsSideBySide) {
  std::vector<std::string> warnings;
  Settings settings;
  settings.case_files = {"ttc57", "field"};
  settings.only = {"ttc57_1?", "small"};
  settings.dtypes = {"u8", "f32"};
  settings.max_mib = 1;
  const std::vector<Case> cases = select_cases(settings, warnings);
  int ttc = 0, small = 0;
  for (const Case& c : cases) (c.spec.case_class.rfind("ttc57", 0) == 0 ? ttc : small) += 1;
  EXPECT_EQ(ttc, 2 * 10);
  EXPECT_GE(small, 2);
  settings.only = {"no such case"};
  EXPECT_THROW(select_cases(settings, warnings), ArgumentError);
  settings.dtypes = {"float"};
  EXPECT_THROW(select_cases(settings, warnings), ParseError);
}

TEST(SelectCases, TellsAnEmptyFileFromAPatternThatMatchesNothing) {
  const std::string path = testing::TempDir() + "restride_no_cases.json";
  std::ofstream(path) << R"({"cases":[]})";
  std::vector<std::string> warnings;
  Settings settings;
  settings.case_files = {path};
  try {
    select_cases(settings, warnings);
    ADD_FAILURE() << "no error";
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("hold no case"), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find("--only"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace restride::bench
