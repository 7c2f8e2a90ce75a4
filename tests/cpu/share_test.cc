#include "src/cpu/share.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(Pieces, HoldAllTasksOnceAndAreNoFewerThanThreads) {
  const Layout layout = contiguous(DType::kU8, {4 << 20});
  const layout::Canonical c = layout::canonicalize(layout, layout, 1, 1, layout::UnitRule::kAnywhere);
  for (const std::int64_t tasks : {1, 7, 128, 129, 1000})
    for (const std::int64_t align : {1, 128})
      for (const int threads : {0, 1, 2, 5, 300}) {
        CommonArgs a;
        a.tasks = tasks;
        a.align_tasks = align;
        const Pieces p = pieces_of(a, c, threads);
        EXPECT_GE(p.threads, 1);
        EXPECT_LE(p.threads, std::max(threads, 1));
        EXPECT_GE(p.count, p.threads);
        EXPECT_EQ(p.begin(0), 0);
        EXPECT_EQ(p.begin(p.count), tasks);
        for (int i = 0; i < p.count; ++i) {
          EXPECT_LT(p.begin(i), p.begin(i + 1)) << "a piece without tasks";
          EXPECT_EQ(p.begin(i) % align, 0);
        }
      }
}

TEST(Pieces, AreOneAThreadOfCopiesThatPayBarely) {
  const auto pieces = [](std::int64_t bytes, int threads) {
    const Layout l = contiguous(DType::kU8, {bytes});
    CommonArgs a;
    a.tasks = 1000;
    return pieces_of(a, layout::canonicalize(l, l, 1, 1, layout::UnitRule::kAnywhere), threads).count;
  };
  EXPECT_EQ(pieces(100000, 2), 2);
  EXPECT_EQ(pieces(100000000, 2), 2 * kPiecesEach);
}

TEST(Threads, AreOneForSmallCopies) {
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
