// Memory that runs out at any allocation: a status or an exception, never the end of the program.
#include <gtest/gtest.h>

#include <string>

#include <restride/restride.h>
#include <restride/restride.hpp>

#include "src/api/measure.h"
#include "tests/support/allocations.h"
#include "tests/support/plan_text.h"

namespace restride {
namespace {

using test::failures_told;
using test::made;

bool told(restride_status status) { return status == RESTRIDE_OUT_OF_MEMORY; }

TEST(OutOfMemory, IsAStatusOfThePlanThatIsRead) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile").serialize();
  EXPECT_GT(failures_told([&] {
              restride_plan* plan = nullptr;
              const restride_status status = restride_plan_deserialize(&plan, text.c_str());
              restride_plan_destroy(plan);
              return told(status);
            }),
            10u);
}

TEST(OutOfMemory, IsAStatusAlsoWhereTheTextIsNoPlan) {
  std::string keys = "{";
  for (int i = 0; i < 100; ++i) keys += "\"" + std::string(40, 'k') + std::to_string(i) + "\":[[{\"a\":\"b\"}]],";
  const std::string text = made("f32 (64,96)", "f32 (64,96)").serialize();
  for (const std::string& wrong :
       {std::string("{"), std::string("[]"), text.substr(0, text.size() / 2), keys + "\"x\":1}",
        keys + "\"x\":1,\"x\":2}", std::string(100, '['), keys, test::with(text, "device", "\"no\"")})
    EXPECT_GT(failures_told([&] {
                restride_plan* plan = nullptr;
                return told(restride_plan_deserialize(&plan, wrong.c_str()));
              }),
              0u)
        << wrong;
}

TEST(OutOfMemory, IsAStatusOfThePlanThatIsWritten) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)").serialize();
  restride_plan* plan = nullptr;
  ASSERT_EQ(restride_plan_deserialize(&plan, text.c_str()), RESTRIDE_OK);
  char buffer[4096];
  EXPECT_GT(failures_told([&] { return told(restride_plan_serialize(plan, buffer, sizeof buffer, nullptr)); }), 0u);
  EXPECT_GT(failures_told([&] { return told(restride_plan_explain(plan, buffer, sizeof buffer, nullptr)); }), 0u);
  restride_plan_destroy(plan);
}

TEST(OutOfMemory, IsAnExceptionOfMeasurements) {
  Measurements made;
  made.state().records["a \"key\""] = {{"rows", {{"stream", 1}, {"a longer name of one", 2}}, 1.5}, {"gather", {}, 2}};
  made.state().records["b"] = {};
  const std::string text = made.to_json();
  EXPECT_GT(failures_told([&] { return Measurements::from_json(text).size() == 0; }), 10u);
  EXPECT_GT(failures_told([&] { return made.to_json().empty(); }), 5u);
}

}  // namespace
}  // namespace restride
