#include "src/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <restride/restride.h>
#include <restride/copy.hpp>
#include <restride/log.hpp>

#include "tests/support/log_lines.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using Lines = test::LogLines;

TEST(Log, IsOffUnlessASinkIsSet) {
  set_log(nullptr);
  EXPECT_FALSE(base::log_is_on());
  {
    const Lines lines;
    EXPECT_TRUE(base::log_is_on());
    base::log("{} is slow; do {}", "this", 7);
    EXPECT_EQ(lines.text(), "restride: this is slow; do 7\n");
  }
  base::log("nobody {}", "listens");
}

TEST(Log, CutsLongLines) {
  const Lines lines;
  base::log("{}", std::string(5000, 'x'));
  EXPECT_EQ(lines.text().size(), 768u);
}

TEST(Log, TakesLinesOfManyThreadsOneAtATime) {
  const Lines lines;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) base::log("line {}", i);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(lines.count(), 800u);
}

TEST(Log, OfASinkThatCopiesItselfIsNotItsOwn) {
  static int calls = 0;
  set_log(
      [](void*, const char*) {
        ++calls;
        base::log("from the sink");
      },
      nullptr);
  base::log("one");
  set_log(nullptr);
  EXPECT_EQ(calls, 1);
}

TEST(Log, TellsOfPlansThatTheCacheHasNot) {
  const Lines lines;
  std::vector<float> from(6 * 7), to(6 * 7);
  const Layout dst = parse_layout("f32 (6,7)"), src = parse_layout("f32 (6,7):(1,6)");
  copy({to.data(), dst}, {from.data(), src});
  EXPECT_TRUE(holds(lines.text(), "f32 (6,7):(1,6) -> f32 (6,7):(7,1)", "was not in the cache", "hold a Plan"))
      << lines.text();
  const std::size_t before = lines.count();
  copy({to.data(), dst}, {from.data(), src});
  EXPECT_EQ(lines.count(), before);
  Options options;
  options.family = "rows";
  copy({to.data(), dst}, {from.data(), src}, options);
  EXPECT_TRUE(holds(lines.text(), "family 'rows' is forced", "hold a Plan"));
}

TEST(Log, TellsOfCopiesThatGatherMakes) {
  const Lines lines;
  Options options;
  options.reshape = true;
  const Plan plan(parse_layout("f32 (2,3):(4,1)"), parse_layout("f32 (3,2):(4,1)"), options);
  EXPECT_TRUE(holds(lines.text(), "by gather, element by element", "no common modes", "contiguous tensor"))
      << lines.text();
  const std::size_t before = lines.count();
  options.family = "gather";
  const Plan forced(parse_layout("f32 (64,64)"), parse_layout("f32 (64,64):(1,64)"), options);
  EXPECT_EQ(lines.count(), before) << "who asks for it knows";
}

TEST(Log, GoesToACallbackOfC) {
  std::string seen;
  restride_set_log([](void* context, const char* line) { *static_cast<std::string*>(context) += line; }, &seen);
  base::log("a line");
  restride_set_log(nullptr, nullptr);
  base::log("another");
  EXPECT_EQ(seen, "restride: a line");
}

}  // namespace
}  // namespace restride
