#include "src/plan/numbers.h"

#include <gtest/gtest.h>

namespace restride::plan {
namespace {

TEST(Numbers, AreBoundedByTheUnitThatTheirNameEndsWith) {
  EXPECT_EQ(range_of("row_ns").most, 1e9);
  EXPECT_EQ(range_of("stream_bytes_per_ns").least, 1e-3) << "is divided by";
  EXPECT_EQ(range_of("l2_bytes").most, 1e12);
  EXPECT_EQ(range_of("chains_idle_power").least, -4);
  EXPECT_EQ(range_of("packed_pages").least, 0);
}

struct Some {
  double real = 0.1;
  std::int64_t whole = 3;
  bool flag = true;
};
constexpr Number<Some> kSome[] = {
    {"real", &Some::real}, {"whole", nullptr, &Some::whole}, {"flag", nullptr, nullptr, &Some::flag}};

TEST(Numbers, AreWrittenSoThatTheyReadBackAsTheSame) {
  std::string out = "{";
  append_numbers(&out, kSome, Some{1.0 / 3, INT64_C(1) << 40, false});
  EXPECT_EQ(out, R"({"real": 0.3333333333333333, "whole": 1099511627776, "flag": false)");
}

TEST(Numbers, AreReadByName) {
  Some some;
  EXPECT_TRUE(read_number({"real", {2.5}}, kSome, &some));
  EXPECT_TRUE(read_number({"flag", {false}}, kSome, &some));
  EXPECT_FALSE(read_number({"other", {2.5}}, kSome, &some));
  EXPECT_EQ(some.real, 2.5);
  EXPECT_FALSE(some.flag);
}

}  // namespace
}  // namespace restride::plan
