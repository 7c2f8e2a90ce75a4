// Memory that runs out at any allocation: a status or an exception, never the end of the program.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <restride/restride.h>
#include <restride/restride.hpp>

#include "src/api/measure.h"
#include "src/cpu/team/helpers.h"
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

TEST(OutOfMemory, IsNoMatterOfAPlanThatRunsOnManyPairs) {
  const struct {
    const char* dst;
    const char* src;
    std::size_t pairs;
  } table[] = {{"f32 (64,96)", "f32 (64,96):(1,64)", 100},     // several pairs a task
               {"f32 (600,500)", "f32 (600,500):(1,600)", 2},  // several tasks a pair
               {"f32 (5000)", "f32 (5000)", 100},
               {"f16 (64,96)", "f32 (64,96):(1,64)", 100}};
  for (const auto& row : table)
    for (const int threads : {1, 2}) {
      const Layout dst = parse_layout(row.dst), src = parse_layout(row.src);
      Options options;
      options.threads = threads;
      const Plan plan(dst, src, options);
      const std::vector<float> from(static_cast<std::size_t>(src.elements()), 1);
      std::vector<std::vector<float>> memory(row.pairs, std::vector<float>(from.size()));
      std::vector<void*> to;
      to.reserve(row.pairs);
      for (std::vector<float>& m : memory) to.push_back(m.data());
      const std::vector<const void*> all_from(row.pairs, from.data());
      const std::size_t before = test::live_bytes();
      test::forget_peak();
      int status = 0;
      bool failed = false;
      {
        const test::NoMemoryFrom limit(1);
        for (int i = 0; i < 10; ++i) status |= plan.run_many(to, all_from) | plan.run_many(to, all_from, options);
        failed = limit.failed();
      }
      EXPECT_EQ(test::peak_bytes(), before) << row.dst << " on " << threads << " threads, helpers included";
      EXPECT_FALSE(failed);
      EXPECT_EQ(status, 0);
      if (threads > 1) {
        EXPECT_GT(cpu::helpers_started(), 0);
      }
      if (dst.element.dtype == DType::kF32) {
        for (const std::vector<float>& m : memory) EXPECT_EQ(m, from);
      }
    }
}

}  // namespace
}  // namespace restride
