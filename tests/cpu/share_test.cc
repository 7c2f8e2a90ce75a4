#include "src/cpu/share.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(Pieces, HoldAllTasksOnceAndNoneIsEmpty) {
  for (const std::int64_t tasks : {1, 7, 128, 129, 1000})
    for (const std::int64_t align : {1, 128})
      for (const int wanted : {0, 1, 2, 5, 300}) {
        CommonArgs a;
        a.tasks = tasks;
        a.align_tasks = align;
        const Pieces p = pieces_of(a, wanted);
        EXPECT_GE(p.count, 1);
        EXPECT_LE(p.count, std::max(wanted, 1));
        EXPECT_EQ(p.begin(0), 0);
        EXPECT_EQ(p.begin(p.count), tasks);
        for (int i = 0; i < p.count; ++i) {
          EXPECT_LT(p.begin(i), p.begin(i + 1)) << "a piece without tasks";
          EXPECT_EQ(p.begin(i) % align, 0);
        }
      }
}

TEST(Work, IsCutIntoOnePieceAThreadWhereItPaysBarely) {
  const auto work = [](std::int64_t bytes, double copies) {
    const Layout l = contiguous(DType::kU8, {bytes});
    return work_of(layout::canonicalize(l, l, 1, 1, layout::UnitRule::kAnywhere), copies, 2);
  };
  EXPECT_EQ(work(100000, 1).pieces, 1);
  EXPECT_EQ(work(262144, 1).threads, 2);
  EXPECT_EQ(work(262144, 1).pieces, 4);
  EXPECT_EQ(work(100000000, 1).pieces, 2 * kPiecesEach);
  EXPECT_EQ(work(100, 1e6).pieces, 2 * kPiecesEach);
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
