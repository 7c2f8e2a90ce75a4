#include "tools/draw/bench_page.h"

#include <gtest/gtest.h>

namespace restride::draw {
namespace {

using Json = nlohmann::ordered_json;

Json a_case(const char* name, double ratio, double ns) {
  return {{"name", name},
          {"class", "rows"},
          {"src", "f32 (4)"},
          {"dst", "f32 (4)"},
          {"kernel", "run/units"},
          {"ratio", ratio},
          {"median_ns", ns},
          {"noise", 0.01},
          {"gbps", 10.0},
          {"ceiling_gbps", 9.0},
          {"peers", {{"slow", 0.1}, {"fast", 0.95}}}};
}
Json a_file(std::initializer_list<Json> cases) {
  return {{"runs",
           {{{"device", "cpu"},
             {"threads", 2},
             {"commit", "abc"},
             {"command", "restride bench <x>"},
             {"machine", {{"cpu", "A & B"}}},
             {"cases", cases}}}}};
}

TEST(BenchPage, ShowsTheWorstFirstAndWhoWins) {
  const std::string page = bench_page(a_file({a_case("good", 1.0, 100), a_case("bad", 0.25, 400)}), "r.json");
  EXPECT_LT(page.find("data-case=\"bad\""), page.find("data-case=\"good\""));
  EXPECT_NE(page.find("data-figure=\"geometric_mean\">0.50<"), std::string::npos);
  EXPECT_NE(page.find("data-figure=\"worst\">0.25<"), std::string::npos);
  EXPECT_NE(page.find("<b>fast 0.95 (wins)</b>"), std::string::npos);
  EXPECT_NE(page.find("A &amp; B"), std::string::npos);
  EXPECT_NE(page.find("bench &lt;x&gt;"), std::string::npos);
  EXPECT_NE(page.find("href=\"data:application/json;base64,"), std::string::npos);
}

TEST(BenchPage, ComparesTwoFilesCaseByCase) {
  const Json before = a_file({a_case("same", 1.0, 100), a_case("won", 0.5, 200), a_case("lost", 1.0, 100)});
  const std::string page = bench_page(
      a_file({a_case("same", 1.0, 101), a_case("won", 1.0, 100), a_case("lost", 0.5, 200), a_case("new", 1.0, 1)}),
      "now.json", &before, "before.json");
  EXPECT_NE(page.find("Against before.json"), std::string::npos);
  EXPECT_NE(page.find("3 cases in common"), std::string::npos);
  EXPECT_NE(page.find("1 are faster and 1 slower. 1 are in this file only"), std::string::npos);
  EXPECT_NE(page.find("within the noise"), std::string::npos);
}

TEST(BenchPage, ShowsWhereElementsLieWhileARowIsPointedAt) {
  Json turned = a_case("turned", 1.0, 100), broken = a_case("broken", 1.0, 100);
  turned["src"] = "f32 (2,8):(1,2)";
  turned["dst"] = "f32 (2,8):(8,1)";
  broken["src"] = "<f32";
  const std::string page = bench_page(a_file({turned, broken}), "r.json");
  EXPECT_NE(page.find("turned: the first cells along two axes; numbers say where an element lies, in elements\n"
                      "src f32 (2,8):(1,2)\n  0  2  4  6  ...\n  1  3  5  7  ...\n"
                      "dst f32 (2,8):(8,1)\n   0   1   2   3  ...\n   8   9  10  11  ...\n</div>"),
            std::string::npos)
      << page.substr(page.find("class=\"hover\""), 400);
  EXPECT_EQ(page.find("broken: the first"), std::string::npos);
  EXPECT_NE(page.find("tr:hover .hover{display:block}"), std::string::npos);
}

TEST(BenchPage, SaysWhyACaseHasNoFigures) {
  Json failed = {{"name", "f"}, {"error", "WRONG <OUTPUT>"}}, skipped = {{"name", "s"}, {"skipped", "an extent is 0"}};
  const std::string page = bench_page(a_file({failed, skipped}), "r.json");
  EXPECT_NE(page.find("failed: WRONG &lt;OUTPUT&gt;"), std::string::npos);
  EXPECT_NE(page.find("skipped: an extent is 0"), std::string::npos);
  EXPECT_NE(page.find("No case was measured"), std::string::npos);
}

TEST(BenchPage, TakesAnythingForAFile) {
  for (const char* text :
       {"{}", "[]", "{\"runs\": 3}", "{\"runs\": [3, {\"cases\": {\"a\": 1}}, {\"cases\": [[], 7]}]}",
        "{\"runs\": [{\"device\": [], \"threads\": \"x\", \"machine\": 1, \"cases\": [{\"name\": 3, "
        "\"ratio\": \"1\", \"peers\": [1]}]}]}"})
    EXPECT_NE(bench_page(Json::parse(text), "x").find("</html>"), std::string::npos) << text;
}

}  // namespace
}  // namespace restride::draw
