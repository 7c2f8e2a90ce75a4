#include "src/cpu/prepare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/plan_text.h"

namespace restride {
namespace {

using test::made;
using test::with;

TEST(PrepareOthers, RefuseBlocksAndRecordsThatDoNotFit) {
  const auto expect_refused = [](const Plan& plan, const char* key, std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values)
      EXPECT_THROW(Plan::deserialize(with(plan.serialize(), key, value)), ParseError) << key << " " << value;
  };
  const Plan buffered = made("f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)", "buffered");
  expect_refused(buffered, "run_bytes", {0, -1, INT64_MAX});
  expect_refused(buffered, "read_bytes", {0, -1, INT64_MAX});
  expect_refused(buffered, "write_bytes", {0, -1, INT64_MAX});
  expect_refused(made("u8 (5,77,3)", "u8 (5,77,3):(308,4,1)", "rows/records"), "record_bytes", {-3, 1, 4, INT64_MAX});
  expect_refused(made("u8 (5,77,3)", "u8 (5,77,3):(308,4,1)", "rows/records"), "ahead", {-1, 2, INT64_MAX});
  expect_refused(made("f32 (32,64)", "f32 (32,64):(1,32)", "packed"), "run_bytes", {0, -1, INT64_MAX});
  expect_refused(made("f32 (32,64)", "f32 (32,64):(1,32)", "packed"), "way", {-1, 6, INT64_MAX});
}

TEST(PrepareAny, RefusesFlagsThatAreNeitherZeroNorOne) {
  const std::string text = made("f32 (32,64)", "f32 (32,64):(1,32)", "tile/units").serialize();
  for (const std::int64_t bad : {-1, 2}) {
    EXPECT_THROW(Plan::deserialize(with(text, "stream", bad)), ParseError) << bad;
    EXPECT_THROW(Plan::deserialize(with(text, "near", bad)), ParseError) << bad;
  }
}

}  // namespace
}  // namespace restride
