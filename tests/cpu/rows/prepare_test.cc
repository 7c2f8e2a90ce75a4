#include "src/cpu/rows/prepare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/plan_text.h"

namespace restride {
namespace {

using test::made;
using test::with;

TEST(PrepareRows, RefusesWaysToReadThatNoKernelHas) {
  std::string text = made("f32 (300,300)", "f32 (300,300):(400,1)", "rows").serialize();
  text = with(with(with(text, "stream", 1), "near", 1), "order", 2);
  EXPECT_NO_THROW(Plan::deserialize(text)) << text;
  for (const char* bad : {"-1", "17", "9223372036854775807"}) {
    EXPECT_THROW(Plan::deserialize(with(text, "near", bad)), ParseError) << bad;
    EXPECT_THROW(Plan::deserialize(with(text, "order", bad)), ParseError) << bad;
  }
}

}  // namespace
}  // namespace restride
