#include "src/layout/canonical.h"

#include <gtest/gtest.h>

#include <sstream>

#include <vector>

#include "tests/support/throws.h"

namespace restride::layout {
namespace {

using test::holds;
using test::message_of;

Canonical canon(std::string_view dst, std::string_view src, UnitRule rule = UnitRule::kAnywhere,
                std::int64_t align = 1) {
  return canonicalize(parse_layout(dst), parse_layout(src), align, align, rule);
}
/// The printed form without its ending.
std::string shown(std::string_view dst, std::string_view src, UnitRule rule = UnitRule::kAnywhere,
                  std::int64_t align = 1) {
  std::string text = to_string(canon(dst, src, rule, align));
  const std::size_t end = text.find(", innermost first");
  return end == std::string::npos ? text : text.substr(0, end);
}

TEST(Canonicalize, RefinesShapesThatDiffer) {
  // The contiguous copy of 16 heads of 128 for 13 tokens into rows of 2048: shapes differ, element counts agree.
  const Canonical c = canon("f32 (13,2048)", "f32 (13,16,128):(512,6656,4)b");
  EXPECT_EQ(c.modes, (CopyModes{{32, 16, 16}, {16, 512, 6656}, {13, 8192, 512}}));
  EXPECT_EQ(c.dst_unit, 16);
  EXPECT_EQ(c.units, 6656);
  EXPECT_EQ(c.dst_bytes(), 13 * 2048 * 4);
  EXPECT_FALSE(c.two_sided);
  EXPECT_EQ(shown("f32 (6,4):(4,1)", "f32 (2,12):(1,2)"), "unit 4: (12,2) dst (4,48)b src (8,4)b");
}

TEST(Canonicalize, DropsExtentOneWhateverItsStride) {
  EXPECT_EQ(shown("f32 (1,3,1):(99,1,7)", "f32 (3):(2)"), "unit 4: (3) dst (4)b src (8)b");
}

TEST(Canonicalize, OfRankZeroIsOneUnit) {
  const Canonical c = canon("f64 ()", "f64 ()");
  EXPECT_TRUE(c.modes.empty());
  EXPECT_EQ(c.dst_unit, 8);
  EXPECT_EQ(c.units, 1);
}

TEST(Canonicalize, OfNoElementsHasNothingToDo) {
  EXPECT_EQ(canon("f32 (4,0)", "f32 (0,7)").units, 0);
  EXPECT_EQ(shown("f32 (4,0):(0,0)", "f32 (0)"), "empty");
}

TEST(Canonicalize, KeepsFortyOfSixtyFourModesThatReverse) {
  const std::vector<std::int64_t> extents = [] {
    std::vector<std::int64_t> e(64, 1);
    for (std::size_t i = 0; i < 40; ++i) e[i + 12] = 2;
    return e;
  }();
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 64; i-- > 0;) axes.push_back(i);
  const Layout dst = contiguous(DType::kU8, extents);
  const Canonical c = canonicalize(dst, permute(dst, axes), 1, 1, UnitRule::kAnywhere);
  EXPECT_EQ(c.rank(), 40);
  EXPECT_EQ(c.modes[0], (CopyMode{2, 1, std::int64_t{1} << 39}));
  EXPECT_EQ(c.modes[39], (CopyMode{2, std::int64_t{1} << 39, 1}));
  EXPECT_EQ(canonicalize(dst, dst, 1, 1).rank(), 1);
}

TEST(Canonicalize, TurnsDestinationFlipsIntoTheBases) {
  const Canonical both = canon("f32 (4):(-1)@3", "f32 (4):(-1)@3");
  EXPECT_EQ(both.dst_unit, 16);
  EXPECT_EQ(both.dst_offset, 0);
  EXPECT_EQ(both.src_offset, 0);
  const Canonical one = canon("f32 (4):(-1)@3", "f32 (4)");
  EXPECT_EQ(one.modes, (CopyModes{{4, 4, -4}}));
  EXPECT_EQ(one.dst_offset, 0);
  EXPECT_EQ(one.src_offset, 12);
}

TEST(Canonicalize, SortsByDestinationStrideAndMergesWhatIsContiguousOnBothSides) {
  EXPECT_EQ(shown("f32 (2,3,4):(1,8,2)", "f32 (2,3,4):(1,8,2)"), "unit 16: (6) dst (16)b src (16)b");
  EXPECT_EQ(shown("f32 (64,8)", "f32 (64,8):(1,64)"), "unit 4: (8,64) dst (4,32)b src (256,4)b");
}

TEST(Canonicalize, DoesNotMergeWhatIsContiguousOnOneSideOnly) {
  EXPECT_EQ(shown("u8 (3,5):(5,1)", "u8 (3,5):(6,1)"), "unit 1: (5,3) dst (1,5)b src (1,6)b");
}

TEST(Canonicalize, MovesIntegersIntoOthersOfTheirWidth) {
  EXPECT_EQ(shown("i8 (4,16):(20,1)", "u8 (4,16)"), "unit 16: (4) dst (20)b src (16)b");
  EXPECT_EQ(shown("u64 (8,5)", "i64 (8,5):(1,8)"), "unit 8: (5,8) dst (8,40)b src (64,8)b");
  EXPECT_TRUE(canon("u8 (4,16)", "bool (4,16)").cast);
  EXPECT_TRUE(canon("bool (4,16)", "u8 (4,16)").cast);
  EXPECT_TRUE(canon("i16 (4,16)", "u8 (4,16)").cast);
  EXPECT_TRUE(canon("f32 (4,16)", "i32 (4,16)").cast);
}

TEST(Canonicalize, WidensUnitsAnywhereForCpus) {
  EXPECT_EQ(shown("u8 (4,16):(20,1)", "u8 (4,16)"), "unit 16: (4) dst (20)b src (16)b");
  EXPECT_EQ(shown("u8 (24)", "u8 (24)"), "unit 8: (3) dst (8)b src (8)b");
}

TEST(Canonicalize, WidensAlignedUnitsByStridesOffsetsAndPromises) {
  constexpr UnitRule kRule = UnitRule::kAligned;
  EXPECT_EQ(shown("u8 (4,16):(20,1)", "u8 (4,16)", kRule, 16), "unit 4: (4,4) dst (4,20)b src (4,16)b");
  EXPECT_EQ(shown("u8 (64)", "u8 (64)", kRule, 8), "unit 8: (8) dst (8)b src (8)b");
  EXPECT_EQ(shown("u8 (64)", "u8 (64):(1)@2", kRule, 16), "unit 2: (32) dst (2)b src (2)b");
  EXPECT_EQ(shown("f32 (4)", "f32 (4)", kRule, 1), "unit 1: (16) dst (1)b src (1)b");
}

TEST(Canonicalize, SplitsElementsOfNoPowerOfTwo) {
  EXPECT_EQ(shown("b12 (4,5)", "b12 (4,5):(1,4)"), "unit 4: (3,5,4) dst (4,12,60)b src (4,48,12)b");
  EXPECT_EQ(shown("b3 (2,2)", "b3 (2,2):(1,2)"), "unit 1: (3,2,2) dst (1,3,6)b src (1,6,3)b");
  EXPECT_EQ(shown("b24 (2,2)", "b24 (2,2):(1,2)"), "unit 8: (3,2,2) dst (8,24,48)b src (8,48,24)b");
  EXPECT_EQ(shown("b48 (2,2)", "b48 (2,2):(1,2)"), "unit 16: (3,2,2) dst (16,48,96)b src (16,96,48)b");
  EXPECT_EQ(shown("b12 (2,2)", "b12 (2,2):(1,2)", UnitRule::kAligned, 2),
            "unit 2: (6,2,2) dst (2,12,24)b src (2,24,12)b");
}

TEST(Canonicalize, KeepsByteStridesThatAreNoMultipleOfTheElement) {
  EXPECT_EQ(shown("f32 (4):(6)b", "f32 (4)"), "unit 4: (4) dst (6)b src (4)b");
  EXPECT_EQ(shown("f32 (4):(6)b", "f32 (4)", UnitRule::kAligned, 4), "unit 2: (2,4) dst (2,6)b src (2,4)b");
}

TEST(Canonicalize, KeepsTwoSidesWhereShapesHaveNoCommonRefinement) {
  EXPECT_EQ(shown("f32 (2,3):(4,1)", "f32 (3,2):(4,1)"), "unit 4: dst (3,2):(4,16)b src (2,3):(4,16)b");
  const Canonical c = canon("f32 (2,3):(-4,1)@4", "f32 (3,2):(4,1)");
  EXPECT_TRUE(c.two_sided);
  EXPECT_EQ(c.modes[1].dst_stride, -16) << "keeps its sign";
  EXPECT_EQ(c.dst_offset, 16);
  EXPECT_EQ(shown("b12 (2,3):(4,1)", "b12 (3,2):(4,1)"), "unit 4: dst (3,3,2):(4,12,48)b src (3,2,3):(4,12,48)b");
}

TEST(Canonicalize, OfTwoSidesWidensUnitsNoFurtherThanEithersStrides) {
  const auto unit = [](std::string_view dst, std::string_view src) {
    return canon(dst, src, UnitRule::kAligned, 16).dst_unit;
  };
  EXPECT_EQ(unit("f32 (2,3):(16,4)b", "f32 (3,2):(12,4)b"), 4);
  EXPECT_EQ(unit("f32 (2,3):(16,4)b", "f32 (3,2):(10,4)b"), 2);
  EXPECT_EQ(unit("f32 (2,3):(17,4)b", "f32 (3,2):(12,4)b"), 1);
}

TEST(Canonicalize, KeepsNegativeSourceStridesAndRepeats) {
  EXPECT_EQ(shown("f32 (2,4)", "f32 (2,4):(1,0)"), "unit 4: (4,2) dst (4,16)b src (0,4)b");
  EXPECT_EQ(shown("f32 (2,4)", "f32 (2,4):(0,0)"), "unit 4: (8) dst (4)b src (0)b");
  EXPECT_EQ(shown("f32 (2,4)", "f32 (2,4):(-4,-1)@7"), "unit 4: (8) dst (4)b src (-4)b");
}

TEST(Canonicalize, TakesBothDtypesAsUnitsOfACast) {
  const Canonical c = canon("f16 (4)", "f32 (4)");
  EXPECT_TRUE(c.cast);
  EXPECT_EQ(c.dst_unit, 2);
  EXPECT_EQ(c.src_unit, 4);
  EXPECT_EQ(c.units, 4);
  EXPECT_EQ(shown("f16 (4)", "f32 (4)"), "f32 -> f16: (4) dst (2)b src (4)b");
}

TEST(Canonicalize, CountsMoreThanTwoToThe31) {
  const Canonical c = canon("f32 (6442450944)", "f32 (6442450944):(2)");
  EXPECT_EQ(c.units, std::int64_t{6442450944});
  EXPECT_EQ(c.modes, (CopyModes{{6442450944, 4, 8}}));
}

TEST(Canonicalize, TakesModesWhoseEndLiesBeyondTheLimit) {
  EXPECT_EQ(shown("u8 (2,2):(1,1152921504606846000)", "u8 (2,2)"),
            "unit 1: (2,2) dst (1,1152921504606846000)b src (2,1)b");
  EXPECT_EQ(shown("u8 (2,2)", "u8 (2,2):(1,1152921504606846000)"),
            "unit 1: (2,2) dst (1,2)b src (1152921504606846000,1)b");
}

TEST(Canonicalize, KnowsTheAlignmentOfEachFirstUnit) {
  const Canonical c = canonicalize(parse_layout("f32 (4):(3)@2"), parse_layout("f32 (4)"), 64, 256);
  EXPECT_EQ(c.dst_align, 8);
  EXPECT_EQ(c.src_align, 128);
}

TEST(Canonicalize, RefusesWithTheRemedy) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { canon("f32 (4)", "f32 (5)"); }), "f32 (4)", "f32 (5)",
                    "make the counts equal"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { canon("f32 (0,4)", "f32 (1,4)"); }), "f32 (0,4)", "holds 0 elements",
                    "a slice that begins past the end holds none"));
  EXPECT_TRUE(holds(message_of<CastError>([] { canon("f32 (4)", "c64 (4)"); }), "c64 cannot become f32", "real view"));
  EXPECT_TRUE(holds(message_of<CastError>([] { canon("f32 (4)", "b4 (4)"); }), "reinterpret"));
  EXPECT_TRUE(
      holds(message_of<ArgumentError>([] { canon("f32 (4)", "f32 (4)", UnitRule::kAligned, 3); }), "power of two"));
  EXPECT_THROW(canon("f32 (4):(0)", "f32 (4)"), OverlapError);
  EXPECT_THROW(canonicalize(Layout{DType::kU8, {{2, INT64_MIN}}, 0}, parse_layout("u8 (2)"), 1, 1), RangeError);
}

TEST(ModesBySrcStride, ListsRepeatsLast) {
  const Canonical c = canon("f32 (5,3,2,4):(24,8,4,1)", "f32 (5,3,2,4):(-1,0,7,100)@4");
  const auto order = modes_by_src_stride(c);
  std::vector<std::int64_t> strides;
  for (std::uint8_t m : order) strides.push_back(c.modes[m].src_stride);
  EXPECT_EQ(strides, (std::vector<std::int64_t>{-4, 28, 400, 0}));
}

TEST(Canonicalize, TakesOtherShapesOnlyWhereTheyAreAskedFor) {
  const auto equal = [](const char* dst, const char* src) {
    return canonicalize(parse_layout(dst), parse_layout(src), 1, 1, UnitRule::kAnywhere, Shapes::kEqual);
  };
  for (const auto& [dst, src] :
       {std::pair{"f32 (2,3)", "f32 (2,3):(1,2)"}, std::pair{"f32 (1,1,2,3)", "f32 (2,3)"},
        std::pair{"f32 (2,3)", "f32 (1,2,3)"}, std::pair{"f32 ()", "f32 (1,1)"}, std::pair{"f32 (0,3)", "f32 (1,0,3)"}})
    EXPECT_NO_THROW(equal(dst, src)) << dst << " " << src;
  for (const auto& [dst, src] :
       {std::pair{"f32 (2,3)", "f32 (3,2)"}, std::pair{"f32 (2,3)", "f32 (6)"}, std::pair{"f32 (2,1,3)", "f32 (2,3)"},
        std::pair{"f32 (2,3)", "f32 (2,3,1)"}, std::pair{"f32 (0,3)", "f32 (3,0)"}}) {
    EXPECT_THROW(equal(dst, src), ShapeError) << dst << " " << src;
    EXPECT_NO_THROW(canonicalize(parse_layout(dst), parse_layout(src), 1, 1)) << dst << " " << src;
  }
}

TEST(Canonicalize, NamesBothShapesAndBothRemedies) {
  const auto message = [](const char* dst, const char* src) {
    return message_of<ShapeError>(
        [&] { canonicalize(parse_layout(dst), parse_layout(src), 1, 1, UnitRule::kAnywhere, Shapes::kEqual); });
  };
  EXPECT_TRUE(holds(message("f32 (2,3,4,5)", "u8 (2,4,5,3)"), "dst f32 (2,3,4,5)", "src u8 (2,4,5,3)",
                    "(2,3,4,5) and (2,4,5,3)", "permute src into dst's order, by axes (0,3,1,2)", "set reshape"));
  EXPECT_FALSE(holds(message("f32 (2,2,3)", "f32 (3,2,2)"), "by axes")) << "two sets of axes would do";
  EXPECT_TRUE(holds(message("f32 (2,2,3)", "f32 (3,2,2)"), "permute src into dst's order, or set reshape"));
  EXPECT_FALSE(holds(message("f32 (2,6)", "f32 (3,4)"), "permute")) << "no order of (3,4) is (2,6)";
  EXPECT_TRUE(holds(message("f32 (6)", "f32 (5)"), "holds 6 elements", "has 5", "broadcast src"));
}

/// The names of the steps, and the modes behind each as text.
std::string steps_of(const char* dst, const char* src) {
  std::ostringstream out;
  for (const layout::CanonicalStep& step : layout::canonical_steps(parse_layout(dst), parse_layout(src), 64, 64)) {
    out << (step.name == "given" ? "" : "; ") << step.name;
    for (const layout::CopyMode& m : step.modes) out << ' ' << m.extent << ':' << m.dst_stride << ',' << m.src_stride;
    if (step.two_sided) out << " |";
    for (const layout::CopyMode& m : step.src_modes) out << ' ' << m.extent << ':' << m.src_stride;
  }
  return out.str();
}

TEST(CanonicalSteps, TellEachStepOfOneCopy) {
  EXPECT_EQ(steps_of("f32 (4,1,6):(-6,6,1)@18", "f32 (2,2,6):(48,24,1)"),
            "given 6:4,0 1:24,0 4:-24,0 | 6:4 2:96 2:192; "
            "drop 6:4,0 4:-24,0 | 6:4 4:96; "
            "refine 6:4,4 4:-24,96; "
            "flip 6:4,4 4:24,-96; "
            "sort 6:4,4 4:24,-96; "
            "merge 6:4,4 4:24,-96; "
            "unit 3:8,8 4:24,-96");
}

TEST(CanonicalSteps, EndInTheCanonicalForm) {
  for (const auto& [dst, src] : {std::pair{"f32 (64,512)", "f32 (64,512):(1,64)"},
                                 {"f16 (4,5,6)", "f32 (4,5,6):(1,24,4)"},
                                 {"f32 (2,3):(4,1)", "f32 (3,2):(4,1)"},
                                 {"u8 (8)", "u8 (8)"}}) {
    const layout::Canonical c = layout::canonicalize(parse_layout(dst), parse_layout(src), 64, 64);
    const auto steps = layout::canonical_steps(parse_layout(dst), parse_layout(src), 64, 64);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back().modes, c.modes) << dst;
    EXPECT_EQ(steps.back().src_modes, c.src_modes) << dst;
    EXPECT_EQ(steps.back().src_offset, c.src_offset) << dst;
  }
  EXPECT_EQ(steps_of("f32 (2,3):(4,1)", "f32 (3,2):(4,1)"),
            "given 3:4,0 2:16,0 | 2:4 3:16; drop 3:4,0 2:16,0 | 2:4 3:16; refine 3:4,0 2:16,0 | 2:4 3:16; "
            "unit 3:4,0 2:16,0 | 2:4 3:16");
}

TEST(CanonicalSteps, OfNothingAreTheLayouts) { EXPECT_EQ(steps_of("f32 (0)", "f32 (0)"), "given 0:4,0 | 0:4"); }

}  // namespace
}  // namespace restride::layout
