#include <gtest/gtest.h>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

TEST(ExchangeSerialize, ReadsBackTheSameExchange) {
  test::Rng rng(21);
  for (int i = 0; i < 300; ++i) {
    const std::vector<std::int64_t> shape = test::random_shape(rng);
    const Exchange x(test::random_distribution(rng, shape, 8), DType::kF32,
                     test::random_distribution(rng, shape, 8, false), DType::kF16);
    const Exchange y = Exchange::deserialize(x.serialize());
    ASSERT_EQ(y.src(), x.src());
    ASSERT_EQ(y.dst(), x.dst());
    ASSERT_EQ(y.serialize(), x.serialize());
    ASSERT_EQ(y.sends(0), x.sends(0));
  }
}

TEST(ExchangeSerialize, RefusesTextsThatAreNone) {
  const Exchange x(parse_distribution("(8) as (block[0]) over (2)"), DType::kF32,
                   parse_distribution("(8) as (*) over (2)"), DType::kF32);
  const std::string text = x.serialize();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    out.replace(out.find(from), from.size(), to);
    return out;
  };
  EXPECT_THROW(Exchange::deserialize(""), ParseError);
  EXPECT_THROW(Exchange::deserialize("[]"), ParseError);
  EXPECT_THROW(Exchange::deserialize("{}"), ParseError);
  EXPECT_THROW(Exchange::deserialize(with("\"restride_exchange\":1", "\"restride_exchange\":9")), ParseError);
  EXPECT_THROW(Exchange::deserialize(with("block", "blok")), ParseError);
  EXPECT_THROW(Exchange::deserialize(with("\"f32\"", "\"f33\"")), ParseError);
  EXPECT_THROW(Exchange::deserialize(with("\"messages\":2", "\"messages\":3")), ParseError);
}

}  // namespace
}  // namespace restride::distributed
