#include "src/cpu/share.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(Shares, HoldAllTasksAndAreNoMoreThanThreads) {
  for (const std::int64_t tasks : {0, 1, 7, 128, 129, 1000})
    for (const std::int64_t align : {1, 128})
      for (const int threads : {0, 1, 2, 5}) {
        CommonArgs a;
        a.tasks = tasks;
        a.align_tasks = align;
        const Shares s = shares_of(a, threads);
        EXPECT_GE(s.count, 1);
        EXPECT_LE(s.count, std::max(threads, 1));
        EXPECT_GE(s.count * s.tasks_each, tasks);
        EXPECT_EQ(s.tasks_each % align, 0);
      }
}

TEST(Shares, AreOneForSmallCopies) {
  const auto threads = [](const char* layout) {
    const Layout l = parse_layout(layout);
    return threads_that_pay(layout::canonicalize(l, l, 1, 1, layout::UnitRule::kAnywhere), 8);
  };
  EXPECT_EQ(threads("u8 (1000)"), 1);
  EXPECT_EQ(threads("u8 (262144)"), 2) << "256 KiB of each side";
  EXPECT_EQ(threads("u8 (1000000000)"), 8);
}

}  // namespace
}  // namespace restride::cpu
