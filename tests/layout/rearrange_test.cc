#include <gtest/gtest.h>

#include <restride/layout.hpp>

#include <utility>
#include <vector>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

/// The source view, and the extents of the result, in the notation.
std::pair<std::string, std::string> shown(std::string_view layout, std::string_view pattern, const Sizes& sizes = {}) {
  const Layout l = parse_layout(layout);
  const Rearrangement r = rearrange(l, pattern, sizes);
  return {to_string(r.source), to_string(contiguous(l.element, r.shape))};
}
using Pair = std::pair<std::string, std::string>;

TEST(Rearrange, PermutesByName) {
  EXPECT_EQ(shown("u8 (2,4,5,3)", "b h w c -> b c h w"),
            (Pair{"u8 (2,3,4,5):(60,1,15,3)", "u8 (2,3,4,5):(60,20,5,1)"}));
  EXPECT_EQ(shown("u8 (2,3)", "a_1 b2->b2 a_1"), (Pair{"u8 (3,2):(1,3)", "u8 (3,2):(2,1)"}));
}

TEST(Rearrange, SplitsOnTheLeft) {
  const Pair expected{"f32 (2,3,4):(12,1,3)", "f32 (2,3,4):(12,4,1)"};
  EXPECT_EQ(shown("f32 (8,3)", "(b1 b2) c -> b1 c b2", {{"b2", 4}}), expected);
  EXPECT_EQ(shown("f32 (8,3)", "(b1 b2) c -> b1 c b2", {{"b1", 2}}), expected);
}

TEST(Rearrange, MergesOnTheRight) {
  EXPECT_EQ(shown("f32 (2,3,4)", "a b c -> b (a c)"), (Pair{"f32 (3,2,4):(4,12,1)", "f32 (3,8):(8,1)"}));
  EXPECT_EQ(shown("f32 (2,3)", "a b -> (a b)"), (Pair{"f32 (2,3):(3,1)", "f32 (6):(1)"}));
}

TEST(Rearrange, CarriesModesUnderAnEllipsis) {
  EXPECT_EQ(shown("u8 (2,3,4,5)", "... h w -> ... w h"),
            (Pair{"u8 (2,3,5,4):(60,20,1,5)", "u8 (2,3,5,4):(60,20,4,1)"}));
  EXPECT_EQ(shown("u8 (4,5)", "h w ... -> ... w h"), (Pair{"u8 (5,4):(1,5)", "u8 (5,4):(4,1)"}));
}

TEST(Rearrange, MergesTheModesOfAnEllipsis) {
  // None, one and two modes, alone and beside other names.
  EXPECT_EQ(shown("u8 (2)", "a ... -> a (...)"), (Pair{"u8 (2):(1)", "u8 (2,1):(1,1)"}));
  EXPECT_EQ(shown("u8 (2,3)", "a ... -> a (...)"), (Pair{"u8 (2,3):(3,1)", "u8 (2,3):(3,1)"}));
  EXPECT_EQ(shown("u8 (2,3,4)", "a ... -> a (...)"), (Pair{"u8 (2,3,4):(12,4,1)", "u8 (2,12):(12,1)"}));
  EXPECT_EQ(shown("u8 (2,5)", "b ... c -> b (... c)"), (Pair{"u8 (2,5):(5,1)", "u8 (2,5):(5,1)"}));
  EXPECT_EQ(shown("u8 (2,3,5)", "b ... c -> b (... c)"), (Pair{"u8 (2,3,5):(15,5,1)", "u8 (2,15):(15,1)"}));
  EXPECT_EQ(shown("u8 (2,3,4,5)", "b ... c -> b (... c)"), (Pair{"u8 (2,3,4,5):(60,20,5,1)", "u8 (2,60):(60,1)"}));
  EXPECT_EQ(shown("u8 (2,3,4,5)", "b ... c -> (c ... b)"), (Pair{"u8 (5,3,4,2):(1,20,5,60)", "u8 (120):(1)"}));
}

TEST(Rearrange, MergesAnEllipsisOfStridesThatNoViewMerges) {
  // The result is another memory, where whatever is merged lies together.
  EXPECT_EQ(shown("u8 (2,3,4):(1,2,6)", "... c -> c (...)"), (Pair{"u8 (4,2,3):(6,1,2)", "u8 (4,6):(6,1)"}));
  const Layout empty = parse_layout("u8 (0,1099511627776,1099511627776):(0,0,0)");
  EXPECT_TRUE(holds(message_of<RangeError>([&] { rearrange(empty, "a ... -> a (...)"); }), "merged mode", "63 bits"));
}

// The patterns of einops' documentation of `repeat`, and those of its tests.
TEST(Rearrange, RepeatsAlongNewNamesAndNumbers) {
  EXPECT_EQ(shown("u8 (3,4)", "h w -> h w c", {{"c", 2}}), (Pair{"u8 (3,4,2):(4,1,0)", "u8 (3,4,2):(8,2,1)"}));
  EXPECT_EQ(shown("u8 (3,4)", "h w -> (repeat h) w", {{"repeat", 2}}), (Pair{"u8 (2,3,4):(0,4,1)", "u8 (6,4):(4,1)"}));
  EXPECT_EQ(shown("u8 (3,4)", "h w -> (h h2) (w w2)", {{"h2", 2}, {"w2", 3}}),
            (Pair{"u8 (3,2,4,3):(4,0,1,0)", "u8 (6,12):(12,1)"}));
  EXPECT_EQ(shown("u8 (2,3,4)", "a b c -> (c copy a b)", {{"copy", 2}}),
            (Pair{"u8 (4,2,2,3):(1,0,12,4)", "u8 (48):(1)"}));
  EXPECT_EQ(shown("u8 (3,4)", "h w -> h (w 2) 3"), (Pair{"u8 (3,4,2,3):(4,1,0,0)", "u8 (3,8,3):(24,3,1)"}));
  EXPECT_EQ(shown("u8 (2,3,4)", "a ... -> copy a ... 2", {{"copy", 5}}),
            (Pair{"u8 (5,2,3,4,2):(0,12,4,1,0)", "u8 (5,2,3,4,2):(48,24,8,2,1)"}));
  EXPECT_EQ(shown("u8 ()", "-> 3"), (Pair{"u8 (3):(0)", "u8 (3):(1)"}));
  EXPECT_EQ(shown("u8 (3)", "a -> 2 a 2"), (Pair{"u8 (2,3,2):(0,1,0)", "u8 (2,3,2):(6,2,1)"}));
  EXPECT_EQ(shown("u8 (6)", "(a b) -> a n b", {{"a", 2}, {"n", 4}}),
            (Pair{"u8 (2,4,3):(3,0,1)", "u8 (2,4,3):(12,3,1)"}));
  EXPECT_EQ(shown("u8 (2,3)", "a \u2026 -> \u2026 a").first, "u8 (3,2):(1,3)");
  EXPECT_THROW(rearrange(parse_layout("u8 (1099511627776)"), "a -> a 9999999"), RangeError);
  EXPECT_TRUE(holds(message_of<ParseError>([] {
                      rearrange(parse_layout("u8 (3)"), "a -> n a n", {{"n", 2}});
                    }),
                    "'n' twice on the right"));
}

TEST(Rearrange, DropsAndAddsExtentOne) {
  EXPECT_EQ(shown("u8 (2,3,1)", "b c 1 -> b c"), (Pair{"u8 (2,3):(3,1)", "u8 (2,3):(3,1)"}));
  EXPECT_EQ(shown("u8 (2,3)", "b c -> b 1 c ()"), (Pair{"u8 (2,3):(3,1)", "u8 (2,1,3,1):(3,3,1,1)"}));
  EXPECT_THROW(rearrange(parse_layout("u8 (2,3)"), "b 1 -> b"), ShapeError);
}

TEST(Rearrange, KeepsOffsetsAndSignsOfTheSource) {
  EXPECT_EQ(shown("u8 (4):(-1)@3", "(a b) -> b a", {{"a", 2}}).first, "u8 (2,2):(-1,-2)@3");
}

TEST(Rearrange, SaysWhatIsWrongWithAPattern) {
  const auto message = [](const char* pattern) {
    return message_of<ParseError>([&] { rearrange(parse_layout("u8 (2,3)"), pattern); });
  };
  EXPECT_TRUE(holds(message("a b"), "pattern 'a b': no '->'"));
  EXPECT_TRUE(holds(message("a b -> a"), "'b' is on the left but not on the right", "slice it away"));
  EXPECT_TRUE(holds(message("a b -> a b c"), "'c' is on the right but not on the left", "give its size"));
  EXPECT_TRUE(holds(message("a a -> a"), "'a' twice on the left", "a name of its own"));
  EXPECT_TRUE(holds(message("a b -> a b a"), "'a' twice on the right", "a new name"));
  EXPECT_TRUE(holds(message("a (b -> a b"), "a '(' without"));
  EXPECT_TRUE(holds(message("a b) -> a b"), "a ')' without"));
  EXPECT_TRUE(holds(message("((a) b) -> a b"), "inside a parenthesis"));
  EXPECT_TRUE(holds(message("a ... -> a"), "one side only"));
  EXPECT_TRUE(holds(message("... ... -> ..."), "twice"));
  EXPECT_TRUE(holds(message("... -> ... (...)"), "twice"));
  EXPECT_TRUE(holds(message("a ... -> a (... ...)"), "twice"));
  EXPECT_TRUE(holds(message("a b -> a (b ...)"), "one side only"));
  EXPECT_TRUE(holds(message("(a ...) -> a ..."), "parenthesis of the left side", "name its parts"));
  EXPECT_TRUE(holds(message("a 2 -> a"), "'2' on the left", "name the mode there"));
  EXPECT_TRUE(holds(message("a 2b -> a 2b"), "'2b' is neither a name nor a number", "with a letter"));
  EXPECT_TRUE(holds(message("a b -> a b 0"), "extent 0", "1 or more"));
  EXPECT_TRUE(holds(message("a b -> a b 9999999999999999999"), "does not fit 63 bits"));
  EXPECT_TRUE(holds(message("a + -> a"), "'+' is no part", "between blanks"));
  EXPECT_TRUE(holds(message("a, b -> b a"), "',' is no part", "between blanks"));
  EXPECT_TRUE(holds(message("a .. -> a .."), "'.' is no part", "in threes"));
  EXPECT_TRUE(holds(message("a b -> b a -> a b"), "'->' stands once"));
  EXPECT_TRUE(holds(message("\u00e9 b -> b \u00e9"), "'\u00e9' is no part", "ASCII letters"));
  EXPECT_TRUE(holds(message("\u9ad8 b -> b \u9ad8"), "'\u9ad8' is no part", "ASCII letters"));
}

TEST(Rearrange, ItsResultIsDenseMemoryUnderTheModesOfTheSource) {
  const Rearrangement r = rearrange(parse_layout("u8 (2,4,3):(100,3,1)@7"), "b (h s) c -> b h (s c)", {{"s", 2}});
  EXPECT_EQ(to_string(r.source), "u8 (2,2,2,3):(100,6,3,1)@7");
  EXPECT_EQ(to_string(r.result(DType::kF32)), "f32 (2,2,2,3):(12,6,3,1)");
  EXPECT_EQ(r.result(DType::kF32).bytes(), contiguous(DType::kF32, r.shape).bytes());
  EXPECT_EQ(r.shape, (Shape{2, 2, 6}));
  EXPECT_THROW(r.result(Element::bytes(0)), ArgumentError);
}

TEST(Rearrange, SaysWhatDoesNotFitTheLayout) {
  const auto message = [](const char* pattern, const Sizes& sizes = {}) {
    return message_of<ShapeError>([&] { rearrange(parse_layout("u8 (4,6)"), pattern, sizes); });
  };
  EXPECT_TRUE(holds(message("a b c -> c b a"), "names 3 modes", "has 2", "write '...'"));
  EXPECT_TRUE(holds(message("a -> a"), "names 1 mode but"));
  EXPECT_TRUE(holds(message("(a b) c -> a b c"), "unknown size"));
  EXPECT_FALSE(message("(a b) c -> a b c", {{"a", 3}}).empty());
  EXPECT_FALSE(message("a b -> b a", {{"a", 5}}).empty());
  EXPECT_TRUE(holds(message("a b -> b a", {{"z", 5}}), "z=5", "names nothing", "drop it"));
  EXPECT_TRUE(holds(message("(a b) c -> a b c", {{"a", -2}}), "a=-2"));
}

}  // namespace
}  // namespace restride
