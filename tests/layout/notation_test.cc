#include <gtest/gtest.h>

#include <restride/layout.hpp>

#include "tests/property/random_layout.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

std::string round(std::string_view text) { return to_string(parse_layout(text)); }

TEST(Notation, PrintsStridesInElementsWhereTheyAreWhole) {
  EXPECT_EQ(to_string(contiguous(DType::kF32, {8, 64})), "f32 (8,64):(64,1)");
  EXPECT_EQ(to_string(permute(contiguous(DType::kBF16, {8, 64}), {1, 0})), "bf16 (64,8):(1,64)");
}

TEST(Notation, PrintsStridesInBytesWhereElementsCannotSayThem) {
  EXPECT_EQ(round("f32 (4):(6)b"), "f32 (4):(6)b");
  EXPECT_EQ(round("f32 (4):(8)b"), "f32 (4):(2)");
  EXPECT_EQ(round("f32 (4):(8)b@2"), "f32 (4):(8)b@2");
}

TEST(Notation, PrintsTheOffsetInTheUnitOfTheStrides) {
  EXPECT_EQ(to_string(flip(contiguous(DType::kF32, {4}), 0)), "f32 (4):(-1)@3");
  EXPECT_EQ(parse_layout("f32 (4):(-1)@3").offset_bytes, 12);
  EXPECT_EQ(parse_layout("f32 (4):(6)b@-3").offset_bytes, -3);
}

TEST(Notation, ReadsAShapeAloneAsContiguous) {
  EXPECT_EQ(parse_layout("u8 (2,3)"), contiguous(DType::kU8, {2, 3}));
  EXPECT_EQ(parse_layout("u8 (2,)"), contiguous(DType::kU8, {2}));
  EXPECT_EQ(parse_layout("c128 ()"), contiguous(DType::kC128, {}));
  EXPECT_EQ(parse_layout("  f16( 2 , 3 ) : ( 3 , 1 ) "), contiguous(DType::kF16, {2, 3}));
}

TEST(Notation, TakesAnOffsetWithoutStrides) {
  EXPECT_EQ(parse_layout("f32 (2,3)@5"), parse_layout("f32 (2,3):(3,1)@5"));
  EXPECT_EQ(parse_layout("u16 () @ -2").offset_bytes, -4);
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (8)@3 x"); }), "column 11", "behind the extents"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (8)@"); }), "expected a number"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f64 (8)@9223372036854775807"); }), "does not fit"));
  EXPECT_THROW(parse_layout("u8 (8)@9223372036854775807"), RangeError);
}

TEST(Notation, NamesEveryElement) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Element e(static_cast<DType>(i));
    EXPECT_EQ(parse_element(to_string(e)), e) << to_string(e);
  }
  EXPECT_EQ(parse_layout("b12 (5)").element, Element::bytes(12));
  EXPECT_EQ(parse_element("b0"), std::nullopt);
  EXPECT_EQ(parse_element("b-1"), std::nullopt);
  EXPECT_EQ(parse_element("b3x"), std::nullopt);
  EXPECT_EQ(parse_element("b99999999999"), std::nullopt);
}

TEST(Notation, ComplainsWithTheColumn) {
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f33 (4)"); }), "'f33' is no element type"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 4"); }), "column 5", "expected '('"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (4"); }), "column 7", "expected ')'"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (4):(1,1)"); }), "1 extent but 2 strides"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (-4)"); }), "extent -4 is negative"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (4) x"); }), "column 9", "behind the extents"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (99999999999999999999)"); }), "63 bits"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f64 (2):(2305843009213693952)"); }),
                    "a stride that does not fit"));
  EXPECT_THROW(parse_layout(""), ParseError);
  EXPECT_THROW(parse_layout("f32 (,)"), ParseError);
}

TEST(Notation, ColumnsPointAtTheWordAndNotBehindIt) {
  const std::pair<const char*, const char*> wrong[] = {
      {"f33 (4)", "column 1: 'f33' is no element type"},
      {"  float33 (4)", "column 3: 'float33' is"},
      {"f8_e4m4 (4)", "column 1: 'f8_e4m4' is"},
      {"f32 (4,-4)", "column 8: extent -4"},
      {"f32 (4,4):(4)", "column 11: 2 extents but 1 stride"},
      {"f32 (4,4): (1,9223372036854775807)", "column 15: a stride"},
      {"f32 (4) @ 9223372036854775807", "column 11: an offset"},
  };
  for (const auto& [text, words] : wrong)
    EXPECT_TRUE(holds(message_of<ParseError>([t = text] { parse_layout(t); }), words)) << text;
}

TEST(Notation, SaysThatTheElementTypeIsMissing) {
  for (const char* text : {"", " ", "(4,5)", " (4,5):(5,1)"})
    EXPECT_TRUE(holds(message_of<ParseError>([&] { parse_layout(text); }), "the element type is missing")) << text;
}

TEST(Notation, QuotesWhatStandsBehindALayout) {
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("f32 (4,5) > (1,0)"); }), "column 11",
                    "'> (1,0)' stands behind the extents"));
  EXPECT_TRUE(
      holds(message_of<ParseError>([] { parse_layout("f32 (4):(1)B"); }), "column 12", "'B' stands behind the layout"));
}

TEST(Notation, RefusesMoreThan64Modes) {
  std::string text = "u8 (1";
  for (int i = 0; i < 64; ++i) text += ",1";
  EXPECT_TRUE(holds(message_of<ParseError>([&] { parse_layout(text + ")"); }), "more than 64 modes"));
}

TEST(Notation, LeavesRangeToTheLayout) { EXPECT_THROW(parse_layout("u8 (4294967296,4294967296)"), RangeError); }

TEST(NotationProperty, WhatIsPrintedReadsBackEqual) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    test::Rng rng(seed);
    const test::Case c = test::random_case(rng);
    EXPECT_EQ(parse_layout(to_string(c.src)), c.src) << seed << ": " << to_string(c.src);
    EXPECT_EQ(parse_layout(to_string(c.dst)), c.dst) << seed << ": " << to_string(c.dst);
  }
}

}  // namespace
}  // namespace restride
