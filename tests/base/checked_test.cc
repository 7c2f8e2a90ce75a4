#include "src/base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>

#include <restride/error.hpp>

namespace restride {
namespace {

TEST(Checked, SaysWhenAProductOrASumLeaves63Bits) {
  std::int64_t out = 0;
  EXPECT_TRUE(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31, &out));
  EXPECT_EQ(out, std::int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31, &out));
  EXPECT_TRUE(checked_add(INT64_MAX - 1, 1, &out));
  EXPECT_FALSE(checked_add(INT64_MAX, 1, &out));
}

TEST(Narrowed, KeepsOrRefusesButNeverCutsShort) {
  EXPECT_EQ(narrowed<std::uint32_t>(UINT32_MAX), UINT32_MAX);
  EXPECT_THROW(narrowed<std::uint32_t>(std::int64_t{UINT32_MAX} + 1), InternalError);
  EXPECT_THROW(narrowed<std::uint8_t>(-1), InternalError);
  EXPECT_EQ(narrowed<std::int8_t>(-128), -128);
}

TEST(CeilDiv, DoesNotOverflowOnTheWay) {
  EXPECT_EQ(ceil_div(0, 7), 0);
  EXPECT_EQ(ceil_div(7, 7), 1);
  EXPECT_EQ(ceil_div(8, 7), 2);
  EXPECT_EQ(ceil_div(INT64_MAX, 2), (std::int64_t{1} << 62));
}

TEST(Continues, IsRightWhereTheEndLiesPast63Bits) {
  EXPECT_TRUE(continues(12, 4, 3));
  EXPECT_TRUE(continues(-12, -4, 3));
  EXPECT_FALSE(continues(16, 4, 3));
  EXPECT_FALSE(continues(0, std::int64_t{1} << 62, 4)) << "2^64 wraps to 0";
}

TEST(Magnitude, IsRightForTheMostNegativeValue) {
  EXPECT_EQ(magnitude(-5), 5u);
  EXPECT_EQ(magnitude(INT64_MIN), std::uint64_t{1} << 63);
}

TEST(PowerOfTwoDivisor, IsCapped) {
  EXPECT_EQ(power_of_two_divisor(12, 128), 4);
  EXPECT_EQ(power_of_two_divisor(-8, 128), 8);
  EXPECT_EQ(power_of_two_divisor(4096, 128), 128);
  EXPECT_EQ(power_of_two_divisor(0, 16), 16);
}

}  // namespace
}  // namespace restride
