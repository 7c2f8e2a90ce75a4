#include "tools/bench/case.h"

#include <gtest/gtest.h>

#include "tools/bench/joint_modes.h"
#include "tools/bench/shipped.h"

namespace restride::bench {
namespace {

CaseSpec spec_of(const std::string& keys) {
  return parse_case_file("{\"cases\": [{\"name\": \"c\", " + keys + "}]}", "file").cases.at(0);
}
Case case_of(const std::string& keys) { return build_case(spec_of(keys)); }

TEST(BuildCase, PermutesTheSourceAndWritesInCOrder) {
  const Case c = case_of(R"("shape": [2, 3, 5], "axes": [2, 0, 1])");
  EXPECT_EQ(to_string(c.src.layout), "f32 (5,2,3):(1,15,5)");
  EXPECT_EQ(to_string(c.dst.layout), "f32 (5,2,3):(6,3,1)");
  EXPECT_EQ(c.src.buffer_bytes, 120);
  EXPECT_EQ(c.dst.useful_bytes, 120);
}

TEST(BuildCase, TakesTheSeedWhoseSidesDifferInShape) {
  const Case c = case_of(R"("shape": [13, 16, 128], "strides_bytes": [512, 6656, 4], "dst_shape": [13, 2048])");
  EXPECT_EQ(to_string(c.src.layout), "f32 (13,16,128):(128,1664,1)");
  EXPECT_EQ(to_string(c.dst.layout), "f32 (13,2048):(2048,1)");
  EXPECT_TRUE(c.reshape);
  EXPECT_FALSE(case_of(R"("shape": [2, 3], "axes": [1, 0])").reshape);
}

TEST(BuildCase, SlicesBeforeItPermutes) {
  const Case c = case_of(R"("shape": [10, 20], "slice": ["2:8", "::-1"], "axes": [1, 0])");
  EXPECT_EQ(to_string(c.src.layout), "f32 (20,6):(-1,20)@59");
}

TEST(BuildCase, CountsABroadcastSourceOnce) {
  const Case c = case_of(R"("shape": [1, 32], "broadcast": [8, 32], "axes": [0, 1])");
  EXPECT_EQ(c.src.useful_bytes, 128);
  EXPECT_EQ(c.dst.useful_bytes, 1024);
  EXPECT_EQ(c.src.buffer_bytes, 128);
}

TEST(BuildCase, WritesIntoASliceOfALargerArray) {
  const Case c = case_of(R"("shape": [4, 8], "axes": [1, 0], "dst_slice_of": [8, 16], "dst_slice": [":", "3:7"])");
  EXPECT_EQ(to_string(c.dst.layout), "f32 (8,4):(16,1)@3");
  const Case padded = case_of(R"("shape": [4, 8], "axes": [1, 0], "dst_strides_bytes": [-32, 4])");
  EXPECT_EQ(padded.dst.layout.modes[0], (Mode{8, -32}));
  EXPECT_EQ(padded.dst.buffer_bytes - padded.dst.layout.offset_bytes, 4 * 4);
  EXPECT_THROW(case_of(R"("shape": [4, 8], "dst_strides_bytes": [32])"), Error);
  EXPECT_THROW(case_of(R"("shape": [4, 8], "axes": [1, 0], "dst_slice_of": [8, 16], "dst_slice": [":", "3:8"])"),
               Error);
}

TEST(BuildCase, KeepsThePlaceInsideAPageButNotTheUntouchedPagesInFront) {
  const Case c = case_of(R"("shape": [10, 4096], "slice": ["5:6", "3:7"], "axes": [0, 1])");
  EXPECT_EQ(c.src.layout.offset_bytes, 12);  // 5 rows of 16 KiB, and 3 elements
  EXPECT_EQ(c.src.buffer_bytes, 12 + 16);
}

TEST(BuildCase, NamesTheCaseInItsErrors) {
  try {
    case_of(R"("shape": [2, 3], "axes": [0, 2])");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).rfind("case c: ", 0), 0u);
  }
}

TEST(WithElement, ReplacesBothSidesButLeavesCastsAlone) {
  EXPECT_EQ(with_element(spec_of(R"("shape": [2])"), DType::kU8).name, "c@u8");
  EXPECT_EQ(with_element(spec_of(R"("shape": [2], "dst": "f16")"), DType::kU8).name, "c");
  EXPECT_EQ(with_element(spec_of(R"("shape": [2], "strides_bytes": [4])"), DType::kU8).name, "c");
}

TEST(ScaleTo, LeavesCasesThatFit) {
  EXPECT_EQ(scale_to(spec_of(R"("shape": [256, 1024])"), 1 << 20).shape, (std::vector<std::int64_t>{256, 1024}));
}

TEST(ScaleTo, CutsTheOutermostExtentAndKeepsItsRemainder) {
  const CaseSpec odd = scale_to(spec_of(R"("shape": [14001, 11003], "axes": [1, 0])"), 64 << 20);
  EXPECT_EQ(odd.shape[1], 11003);
  EXPECT_EQ(odd.shape[0] % 64, 14001 % 64);
  EXPECT_LE(odd.shape[0] * odd.shape[1] * 4, 64 << 20);
  EXPECT_GT(odd.shape[0] * odd.shape[1] * 4, 32 << 20);
}

TEST(ScaleTo, CutsBehindAShortOutermostExtentThatGivesTheCaseItsCharacter) {
  EXPECT_EQ(scale_to(spec_of(R"("shape": [3, 67108864], "axes": [1, 0])"), 64 << 20).shape[0], 3);
}

TEST(ScaleTo, CutsByACommonDivisorWhereTheShapesDiffer) {
  const CaseSpec cut = scale_to(spec_of(R"("shape": [1024, 16, 128], "dst_shape": [1024, 2048])"), 1 << 20);
  EXPECT_EQ(cut.shape, (std::vector<std::int64_t>{128, 16, 128}));
  EXPECT_EQ(cut.dst_shape, (std::vector<std::int64_t>{128, 2048}));
  EXPECT_THROW(scale_to(spec_of(R"("shape": [13, 16, 128], "dst_shape": [26, 1024])"), 100), Error);
}

TEST(ScaleTo, NarrowsADestinationSliceWithItsSource) {
  const CaseSpec cut = scale_to(
      spec_of(
          R"("shape": [64, 8, 128], "axes": [1, 0, 2], "dst_slice_of": [8, 8192, 128], "dst_slice": [":", "4096:4160", ":"])"),
      1 << 17);
  EXPECT_EQ(cut.shape[0], 32);
  EXPECT_EQ(cut.dst_slice[1], "4096:4128:1");
  EXPECT_NO_THROW(build_case(cut));
}

TEST(ScaleTo, LeavesASliceThatBeginsBehindTheCutSomethingToTake) {
  const CaseSpec cut = scale_to(spec_of(R"("shape": [4096, 64], "slice": ["100:4000", ":"])"), 1 << 14);
  EXPECT_GT(build_case(cut).dst.layout.elements(), 0);
}

TEST(ScaleTo, ShortensTheSliceOfASourceThatGetsAnotherShape) {
  const CaseSpec cut =
      scale_to(spec_of(R"("shape": [4096, 1024], "slice": ["100:3172", ":"], "dst_shape": [3145728])"), 1 << 20);
  EXPECT_EQ(cut.shape, (std::vector<std::int64_t>{4096, 1024}));
  EXPECT_EQ(cut.slice, (std::vector<std::string>{"100:356:1", ":"}));
  EXPECT_EQ(cut.dst_shape, (std::vector<std::int64_t>{262144}));
  const CaseSpec flipped =
      scale_to(spec_of(R"("shape": [3, 64, 1024], "slice": ["1", "::-1"], "dst_shape": [16, 4096])"), 1 << 16);
  EXPECT_EQ(flipped.slice, (std::vector<std::string>{"1", "63:47:-1"}));
  EXPECT_EQ(flipped.dst_shape, (std::vector<std::int64_t>{4, 4096}));
}

TEST(ScaleTo, NarrowsADestinationSliceHoweverItIsWritten) {
  const auto cut = [](const std::string& keys) {
    const CaseSpec spec = scale_to(spec_of(keys), 1 << 20);
    EXPECT_LE(build_case(spec).dst.useful_bytes, 1 << 20) << keys;
    EXPECT_GT(build_case(spec).dst.useful_bytes, 1 << 18) << keys;
    return spec.dst_slice;
  };
  using Slices = std::vector<std::string>;
  EXPECT_EQ(cut(R"("shape": [64, 1024, 128], "dst_slice_of": [128, 1024, 128], "dst_slice": ["64:"])"),
            (Slices{"64:72:1", "0:256:1"}));
  EXPECT_EQ(
      cut(R"("shape": [64, 1024, 128], "dst_slice_of": [64, 4096, 128], "dst_slice": [":", "2047:1023:-1", ":"])"),
      (Slices{"0:8:1", "2047:1791:-1", ":"}));
  EXPECT_EQ(cut(R"("shape": [512, 1024], "dst_slice_of": [512, 1024], "dst_slice": ["::-1"])"), (Slices{"511:255:-1"}));
  EXPECT_EQ(cut(R"("shape": [64, 128000], "dst_slice_of": [3, 64, 128000], "dst_slice": ["1", ":", ":"])"),
            (Slices{"1", "0:8:1", "0:32000:1"}));
}

TEST(ScaleTo, LeavesAModeOfWhichASliceTakesOneElement) {
  const CaseSpec cut = scale_to(spec_of(R"("shape": [128, 1000, 1000], "slice": ["100"])"), 1 << 20);
  EXPECT_EQ(cut.shape[0], 128);
  EXPECT_NO_THROW(build_case(cut));
}

TEST(ScaleTo, CutsASlicedSourceWithTheTargetOfItsBroadcast) {
  const CaseSpec narrow =
      scale_to(spec_of(R"("shape": [4096, 3], "slice": [":", "1"], "broadcast": [2, 4096])"), 1 << 13);
  EXPECT_EQ(narrow.broadcast, (std::vector<std::int64_t>{2, 1024}));
  EXPECT_EQ(narrow.shape, (std::vector<std::int64_t>{1024, 3}));
  const CaseSpec part = scale_to(spec_of(R"("shape": [9000], "slice": ["100:4196"], "broadcast": [2, 4096])"), 1 << 13);
  EXPECT_EQ(part.slice, (std::vector<std::string>{"100:1124:1"}));
  EXPECT_NO_THROW(build_case(part));
}

/// What scaling says of a case; empty where it goes well.
std::string refusal(const std::string& keys, std::int64_t max_bytes) {
  try {
    scale_to(spec_of(keys), max_bytes);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ScaleTo, SaysThatACaseCannotBeMadeSmallerAndNamesItOnce) {
  for (const char* keys : {R"("shape": [13, 16, 100000], "dst_shape": [13, 1600000])",
                           R"("shape": [4, 1024], "broadcast": [64, 4, 1024], "dst_shape": [256, 1024])"}) {
    const std::string words = refusal(keys, 1 << 18);
    EXPECT_NE(words.find("cannot be made smaller"), std::string::npos) << words;
    EXPECT_EQ(words.rfind("case c: "), 0u) << words;
  }
}

TEST(ScaleTo, LeavesWhatIsWrongWithACaseItself) {
  const std::string words = refusal(R"("shape": [4096, 1024], "dst_shape": [4096, 1023])", 1 << 20);
  EXPECT_NE(words.find("do not fit"), std::string::npos) << words;
  EXPECT_EQ(words.find("smaller"), std::string::npos) << words;
}

TEST(ScaleTo, MakesEveryShippedCaseFitAndBuildable) {
  for (const char* name : {"field", "ttc57", "extra"}) {
    for (const CaseSpec& spec : parse_case_file(*shipped_cases(name), name).cases) {
      const Case c = build_case(scale_to(spec, 1 << 20));
      EXPECT_LE(c.dst.useful_bytes, 1 << 20) << spec.name;
      EXPECT_GT(c.dst.useful_bytes, 0) << spec.name;
    }
  }
}

TEST(SectorBytesTouched, IsTheBytesThemselvesWhereTheyLieDensely) {
  EXPECT_EQ(sector_bytes_touched(parse_layout("f32 (16,8):(1,16)"), 64), 512);
  EXPECT_EQ(sector_bytes_touched(parse_layout("f32 (1024,16):(0,1)"), 64), 64);
  EXPECT_EQ(sector_bytes_touched(parse_layout("u8 (0,4)"), 64), 0);
}

TEST(SectorBytesTouched, CountsHolesThatAreShorterThanASector) {
  EXPECT_NEAR(static_cast<double>(sector_bytes_touched(parse_layout("f32 (8192,8192):(24576,3)"), 64)),
              8192.0 * 24576 * 4, 8192 * 64);
  EXPECT_NEAR(static_cast<double>(sector_bytes_touched(parse_layout("f32 (8192,8192):(24576,3)"), 32)),
              8192.0 * 24576 * 4, 8192 * 64);
}

TEST(SectorBytesTouched, CountsWholeSectorsWhereTheHolesAreLong) {
  EXPECT_EQ(sector_bytes_touched(parse_layout("f32 (100):(1024)"), 64), 100 * 67);  // one, or two where it straddles
}

TEST(JointModes, MergesWhatIsContiguousOnBothSides) {
  const auto modes = joint_modes(case_of(R"("shape": [8, 64, 40, 128], "axes": [0, 2, 1, 3])"));
  ASSERT_TRUE(modes.has_value());
  const std::vector<JointMode> expected = {{128, 4, 4}, {64, 512, 20480}, {40, 32768, 512}, {8, 1310720, 1310720}};
  EXPECT_EQ(*modes, expected);
}

TEST(JointModes, FindsABatchOfTransposedMatrices) {
  const auto m = matrix_batch(case_of(R"("shape": [5, 6, 7], "axes": [0, 2, 1])"));
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->columns.extent, 6);
  EXPECT_EQ(m->rows.extent, 7);
  EXPECT_EQ(m->count, 5);
  EXPECT_FALSE(matrix_batch(case_of(R"("shape": [5, 6, 7], "axes": [1, 0, 2])")).has_value());
}

}  // namespace
}  // namespace restride::bench
