#include <gtest/gtest.h>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

TEST(DistributionNotation, PrintsWhatItReads) {
  for (const char* text : {
           "(8192,512) as (block[0],*) over (4)",
           "(8192,512) as (*,block[0]) over (4)@4",
           "(100,70) as (cyclic:8[0],cyclic:8[1]) over (2,3):(1,2)",
           "(100,70) as (block[1,0],*) over (2,3)",
           "(100,70) as (ceil[0]/ceil[1],*) over (2,3)",
           "(100,70) as (cyclic[0]@1,*) over (2)=(5,3)",
           "(9,9) boxes 0[0:5,0:9] 1[5:9,0:4] 1[5:9,4:9] order (1,0)",
           "(9,9) boxes",
           "() as () over ()",
           "() boxes 0[]",
       })
    EXPECT_EQ(to_string(parse_distribution(text)), text);
}

TEST(DistributionNotation, ReadsBackEveryRandomDistribution) {
  test::Rng rng(3);
  for (int i = 0; i < 5000; ++i) {
    const Distribution d = test::random_distribution(rng, test::random_shape(rng), 16);
    ASSERT_EQ(parse_distribution(to_string(d)), d) << to_string(d);
  }
}

TEST(DistributionNotation, SaysTheColumnOfAMistake) {
  const auto message = [](const char* text) {
    try {
      parse_distribution(text);
    } catch (const ParseError& e) {
      return std::string(e.what());
    }
    return std::string("no ParseError");
  };
  EXPECT_EQ(
      message("(8,4) as (blok[0],*) over (4)"),
      "distribution '(8,4) as (blok[0],*) over (4)', column 11: expected '*', 'block', 'ceil' or 'cyclic'; write for "
      "example '(64,32) as (block[0],*) over (4)'");
  EXPECT_NE(message("(8,4)").find("column 6: expected 'as' or 'boxes' behind the shape"), std::string::npos);
  EXPECT_NE(message("(8,4) as (*,*) over (4) and").find("column 25: something stands behind"), std::string::npos);
  EXPECT_NE(message("(99999999999999999999) as (*) over (4)").find("does not fit 63 bits"), std::string::npos);
  EXPECT_NE(message("(8) boxes 0[0:1").find("expected ','"), std::string::npos);
}

}  // namespace
}  // namespace restride::distributed
