#include "tools/bench/results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <restride/error.hpp>

#include "tests/support/throws.h"
#include "tools/io/json_text.h"

namespace restride::bench {
namespace {

using json = nlohmann::ordered_json;

CaseResult result_of(const std::string& name, double ratio) {
  CaseResult r;
  r.name = name;
  r.case_class = "x";
  r.bytes = 1000;
  r.time.median_ns = 100 / ratio;
  r.ceiling.median_ns = 100;
  return r;
}

RunInfo run_of(const std::string& case_file, int threads = 1) {
  RunInfo info{{case_file}, "cpu", threads, json::object(), "abc", "restride bench", {}};
  info.machine = {{"cpu", "some"}, {"cache_bytes", 1024}};
  return info;
}

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// A file of this test's own that is not there yet.
std::string fresh_path(const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::filesystem::remove(path);
  return path;
}

TEST(ResultFile, HasTheFieldsThatItsReadersRelyOn) {
  CaseResult r = result_of("a", 0.5);
  r.src = "f32 (4):(1)";
  r.dst = "f32 (4):(1)";
  r.kernel = "run/units";
  r.plan_ns = 612.4;
  r.checked = true;
  r.peers["numpy"] = 0.25;
  const json run = run_json(run_of("bench/cases/field.json", 2), {r});
  EXPECT_EQ(run["case_files"], json({"field"}));
  EXPECT_EQ(run["device"], "cpu");
  EXPECT_EQ(run["threads"], 2);
  EXPECT_EQ(run["machine"]["cpu"], "some");
  EXPECT_EQ(run["commit"], "abc");
  EXPECT_EQ(run["command"], "restride bench");
  EXPECT_EQ(run["summary"][0]["class"], "x");
  const json& row = run["cases"][0];
  for (const char* key : {"name", "src", "dst", "kernel", "bytes", "median_ns", "gbps", "ceiling_gbps", "ratio",
                          "noise", "plan_ns", "checked", "peers"})
    EXPECT_TRUE(row.contains(key)) << key;
  EXPECT_DOUBLE_EQ(row["ratio"], 0.5);
  EXPECT_DOUBLE_EQ(row["gbps"], 5);
  EXPECT_DOUBLE_EQ(row["ceiling_gbps"], 10);
  EXPECT_DOUBLE_EQ(row["plan_ns"], 612);
  EXPECT_EQ(row["checked"], true);
  EXPECT_DOUBLE_EQ(row["peers"]["numpy"], 0.25);
}

TEST(ResultFile, HasOneLineACase) {
  const std::string path = fresh_path("restride_lines.json");
  ResultFile file(path);
  file.put(run_json(run_of("field"), {result_of("first", 0.5), result_of("second", 0.25)}));
  std::ifstream in(path);
  int cases = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"name\"") == std::string::npos) continue;
    ++cases;
    EXPECT_NE(line.find(cases == 1 ? "{\"name\": \"first\", \"class\": \"x\"" : "{\"name\": \"second\""),
              std::string::npos)
        << line;
    EXPECT_NE(line.find("\"checked\": false}"), std::string::npos) << line;
  }
  EXPECT_EQ(cases, 2);
}

TEST(ResultFile, TakesARunInThePlaceOfTheOneThatMeasuredTheSameAndKeepsTheOthers) {
  const std::string path = fresh_path("restride_runs.json");
  RunInfo huge = run_of("field");
  huge.options["huge_pages"] = true;
  {
    ResultFile file(path);
    for (const RunInfo& info : {run_of("field"), run_of("field", 2), run_of("ttc57"), huge})
      file.put(run_json(info, {result_of("a", 0.5)}));
  }
  ResultFile file(path);
  file.put(run_json(run_of("bench/cases/field.json", 2), {result_of("a", 0.75)}));
  file.put(run_json(run_of("extra"), {result_of("a", 0.9)}));
  std::vector<double> ratios;
  const ResultFile written(path);
  for (const json& run : written.content()["runs"]) ratios.push_back(run["cases"][0]["ratio"]);
  EXPECT_EQ(ratios, (std::vector<double>{0.5, 0.75, 0.5, 0.5, 0.9}));
}

TEST(ResultFile, TakesNoRunOfAnotherMachine) {
  const std::string path = fresh_path("restride_machines.json");
  ResultFile file(path);
  file.put(run_json(run_of("field"), {result_of("a", 0.5)}));
  file.require_machine({{"cpu", "some"}, {"cache_bytes", 1024}, {"gpu", "its GPU"}});
  for (const json& other :
       {json{{"cpu", "other"}, {"cache_bytes", 1024}}, json{{"cpu", "some"}, {"cache_bytes", 2048}}}) {
    const std::string message = test::message_of<IoError>([&] { file.require_machine(other); });
    EXPECT_NE(message.find(path + " holds results of another machine (cpu \"some\", cache_bytes 1024"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("name another file"), std::string::npos) << message;
  }
}

TEST(ResultFile, IsToldFromACaseFileAndOtherJson) {
  CaseResult wrong = result_of("b", 0.5);
  wrong.error = "wrong";
  EXPECT_TRUE(is_result_file({{"runs", json::array({run_json(run_of("field"), {result_of("a", 0.5), wrong})})}}));
  for (const char* other :
       {R"([])", R"({"name":"package"})", R"({"cases":[{"name":"a","shape":[4]}]})", R"({"machine":{},"rows":[]})",
        R"({"machine":{},"cases":[{"name":"a","median_ns":4}]})", R"({"runs":[]})", R"({"runs":[{"cases":[]}]})",
        R"({"runs":[{"machine":{},"cases":[{"name":"a","shape":[4]}]}]})", R"({"runs":[{"machine":{},"cases":{}}]})"})
    EXPECT_FALSE(is_result_file(json::parse(other))) << other;
}

TEST(ResultFile, OfEveryCommittedRunIsTakenForOneAndWouldBeWrittenTheSame) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RESTRIDE_TEST_DATA "/../bench/results")) {
    if (entry.is_directory() || entry.path().filename().string().starts_with("gpu-test-")) continue;
    const std::string text = text_of(entry.path());
    const json file = json::parse(text);
    EXPECT_TRUE(is_result_file(file)) << entry.path();
    EXPECT_TRUE(io::json_rows(file) + "\n" == text) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace restride::bench
