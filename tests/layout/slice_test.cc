#include <gtest/gtest.h>

#include <string>

#include "tests/layout/views.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;
using test::of;

TEST(Slice, TakesBoundsAsPythonDoes) {
  const Layout l = of("f32 (10)");
  EXPECT_EQ(slice(l, 0, 2, 8, 3), of("f32 (2):(3)@2"));
  EXPECT_EQ(slice(l, 0, -3, std::nullopt), of("f32 (3):(1)@7"));
  EXPECT_EQ(slice(l, 0, -99, 99), l);
  EXPECT_EQ(slice(l, 0, std::nullopt, std::nullopt, -2), of("f32 (5):(-2)@9"));
  EXPECT_EQ(slice(l, 0, 7, 2, -2), of("f32 (3):(-2)@7"));
  EXPECT_EQ(slice(l, 0, 5, 5).elements(), 0);
  EXPECT_EQ(slice(l, 0, 8, 2).elements(), 0);
  EXPECT_EQ(slice(l, 0, 99, std::nullopt).elements(), 0);
  EXPECT_EQ(slice(l, 0, 99, std::nullopt, -1), of("f32 (10):(-1)@9"));
}

TEST(Slice, TakesStepsThatLeaveTheModeAtOnce) {
  EXPECT_EQ(slice(of("f32 (10)"), 0, 3, std::nullopt, INT64_MAX).modes[0].extent, 1);
  EXPECT_EQ(slice(of("f32 (10)"), 0, 3, std::nullopt, INT64_MIN).modes[0].extent, 1);
}

TEST(Slice, RefusesStepZero) {
  EXPECT_TRUE(holds(message_of<ArgumentError>([] { slice(of("f32 (4)"), 0, 0, 4, 0); }), "step 0"));
}

TEST(Slice, ReadsOneTextAMode) {
  const std::vector<std::string> texts{"1:3", "::-1", "2"};
  EXPECT_EQ(slice(of("f32 (4,5,6)"), texts), of("f32 (2,5):(30,-6)@56"));
  EXPECT_EQ(slice(of("f32 (4,5)"), std::vector<std::string>{"-1"}), of("f32 (5):(1)@15"));
  EXPECT_EQ(slice(of("f32 (4,5)"), std::vector<std::string>{}), of("f32 (4,5)"));
  for (const char* bad : {"", "a", "1:2:3:4", "1 2", "1:b", "--1"})
    EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{bad}), ParseError) << bad;
  const auto too_large = [] { slice(of("f32 (4)"), std::vector<std::string>{"99999999999999999999:"}); };
  EXPECT_TRUE(holds(message_of<ParseError>(too_large), "does not fit 63 bits"));
  const auto dots = [] { slice(of("f32 (4,5)"), std::vector<std::string>{"...", "1"}); };
  EXPECT_TRUE(holds(message_of<ParseError>(dots), "slice '...'", "write ':' for each mode"));
  EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{"4"}), ShapeError);
  const auto one_more = [] { slice(of("f32 (4)"), std::vector<std::string>{":", ":"}); };
  EXPECT_TRUE(holds(message_of<ShapeError>(one_more), "2 slices", "has 1 mode;"));
  EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{"::0"}), ArgumentError);
}

TEST(Slice, CountsModesAsTheyAreWhenAnIndexIsTaken) {
  const std::vector<std::string> texts{"0", "9"};
  EXPECT_TRUE(holds(message_of<ShapeError>([&] { slice(of("f32 (2,3,4)"), texts); }), "index 9", "mode 0 in f32 (3,4)",
                    "3 elem"));
}

}  // namespace
}  // namespace restride
