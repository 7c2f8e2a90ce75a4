#include "tools/bench/case_file.h"

#include <gtest/gtest.h>

#include <restride/error.hpp>

#include "tools/bench/shipped.h"

namespace restride::bench {
namespace {

std::string message_of(std::string_view text) {
  try {
    const CaseFile file = parse_case_file(text, "file");
    for (const CaseSpec& spec : file.cases)
      if (!spec.unreadable.empty()) return spec.unreadable;
  } catch (const ParseError& e) {
    return e.what();
  }
  return "no ParseError";
}

TEST(CaseFile, FillsInTheDefaultsAndNamesCasesByTheirId) {
  const CaseFile file = parse_case_file(R"({"cases": [{"id": 12, "shape": [96, 75], "axes": [1, 0]}]})", "ttc57");
  ASSERT_EQ(file.cases.size(), 1u);
  EXPECT_EQ(file.cases[0].name, "ttc57_12");
  EXPECT_EQ(file.cases[0].src, Element(DType::kF32));
  EXPECT_EQ(file.cases[0].dst, Element(DType::kF32));
  EXPECT_EQ(file.cases[0].shape, (std::vector<std::int64_t>{96, 75}));
  EXPECT_EQ(file.cases[0].axes, (std::vector<std::int64_t>{1, 0}));
  EXPECT_TRUE(file.warnings.empty());
}

TEST(CaseFile, ReadsEveryKey) {
  const CaseFile file = parse_case_file(
      R"({"cases": [{"name": "all", "class": "rows", "note": "n", "shape": [4, 8], "strides_bytes": [64, 2], "slice": ["1:", "::2"],
          "broadcast": [3, 3, 4], "axes": [1, 0, 2], "dst_slice_of": [3, 3, 9], "dst_slice": [":", ":", "5:9"],
          "src": "f16", "dst": "b3"}]})",
      "file");
  const CaseSpec& spec = file.cases.at(0);
  EXPECT_EQ(spec.case_class, "rows");
  EXPECT_EQ(spec.strides_bytes, (std::vector<std::int64_t>{64, 2}));
  EXPECT_EQ(spec.slice, (std::vector<std::string>{"1:", "::2"}));
  EXPECT_EQ(spec.broadcast, (std::vector<std::int64_t>{3, 3, 4}));
  EXPECT_EQ(spec.dst_slice_of, (std::vector<std::int64_t>{3, 3, 9}));
  EXPECT_EQ(spec.dst_slice, (std::vector<std::string>{":", ":", "5:9"}));
  EXPECT_EQ(spec.src, Element(DType::kF16));
  EXPECT_EQ(spec.dst, Element::bytes(3));
}

TEST(CaseFile, ReadsOverUnknownKeysWithAWarningThatNamesThem) {
  const CaseFile file = parse_case_file(R"({"cases": [{"name": "a", "shape": [2], "stride_bytes": [8]}]})", "file");
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("stride_bytes"), std::string::npos);
}

TEST(CaseFile, RefusesWhatItCannotReadAndNamesCaseAndKey) {
  EXPECT_NE(message_of("{").find("case file file"), std::string::npos);
  EXPECT_NE(message_of("[]").find("\"cases\""), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [3]})").find("must be an object"), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a"}]})").find("case a: \"shape\""), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2.5]}]})").find("integers only"), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [-2]}]})").find("negative extent"), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [18446744073709551615]}]})").find("63 bits"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2], "src": "float"}]})").find("no dtype"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2], "strides_bytes": [4, 4]}]})").find("strides_bytes"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2], "dst_strides_bytes": [4], "dst_shape": [2]}]})")
                .find("excludes"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2], "dst_slice": [":"]}]})").find("dst_slice_of"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"name": "a", "shape": [2]}, {"name": "a", "shape": [3]}]})").find("two cases"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [], "cases": []})").find("case file file: 'cases' appears twice"),
            std::string::npos);
  EXPECT_NE(message_of(std::string(100, '[')).find("case file file: nested deeper than 16"), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"shape": [[2]]}]})").find("integers only, not a list"), std::string::npos);
  EXPECT_NE(message_of(R"({"cases": [{"shape": [2], "slice": [1.5]}]})").find("strings only, not 1.5"),
            std::string::npos);
  EXPECT_THROW(load_case_file("/nonexistent/cases.json"), IoError);
}

TEST(CaseFile, ReadsTheOthersBesideACaseThatCannotBeRead) {
  const CaseFile file = parse_case_file(
      R"({"cases": [3, {"name": "bad", "class": "c", "shape": [2.5]}, {"name": "good", "shape": [2]}]})",
      "dir/file.json");
  ASSERT_EQ(file.cases.size(), 3u);
  EXPECT_EQ(file.cases[0].name, "file_0");
  EXPECT_NE(file.cases[0].unreadable, "");
  EXPECT_EQ(file.cases[1].name, "bad");
  EXPECT_EQ(file.cases[1].case_class, "c");
  EXPECT_NE(file.cases[1].unreadable, "");
  EXPECT_EQ(file.cases[2].unreadable, "");
}

TEST(CaseFile, MakesNamesSafeToPrint) {
  const CaseFile file =
      parse_case_file(R"({"cases": [{"name": "\u001b[31mré", "class": "\n", "shape": [2]}]})", "file");
  EXPECT_EQ(file.cases.at(0).name, "\\x1b[31mré");
  EXPECT_EQ(file.cases.at(0).case_class, "\\x0a");
}

TEST(CaseFile, SurvivesTheWayThroughJsonForPeersInOtherProcesses) {
  for (const char* name : {"field", "ttc57", "extra"}) {
    for (const CaseSpec& spec : parse_case_file(*shipped_cases(name), name).cases) {
      const CaseSpec again = parse_case_file("{\"cases\": [" + to_json(spec) + "]}", "again").cases.at(0);
      EXPECT_EQ(to_json(again), to_json(spec));
    }
  }
}

TEST(ShippedCases, EachHasAClassOfItsOwnOrFromTheTable) {
  for (const char* name : {"field", "ttc57", "extra"}) {
    const CaseFile file = parse_case_file(*shipped_cases(name), name);
    EXPECT_TRUE(file.warnings.empty());
    for (const CaseSpec& spec : file.cases) EXPECT_NE(spec.case_class + shipped_class(spec.name), "") << spec.name;
  }
  EXPECT_FALSE(shipped_cases("unknown").has_value());
  EXPECT_EQ(shipped_class("nobody's case"), "");
}

}  // namespace
}  // namespace restride::bench
