#include "src/distributed/cells.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

using Shape = std::vector<std::int64_t>;

/// The indices of a box, one by one.
template <class F>
void for_each(const Shape& lo, const Shape& hi, const F& f) {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < lo.size(); ++a) n *= hi[a] - lo[a];
  Shape index(lo.size());
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = k;
    for (std::size_t a = lo.size(); a-- > 0;) {
      index[a] = lo[a] + rest % (hi[a] - lo[a]);
      rest /= hi[a] - lo[a];
    }
    f(index);
  }
}

TEST(Cells, AreDisjointAndHaveTheOwnersOfTheirBoxes) {
  test::Rng rng(5);
  for (int i = 0; i < 500; ++i) {
    const Distribution d = test::random_boxes(rng, test::random_shape(rng, 4, 300), 6, true, false);
    std::map<Shape, std::set<int>> expected, found;
    for (const Box& b : d.boxes) for_each(b.lo, b.hi, [&](const Shape& at) { expected[at].insert(b.rank); });
    for (const Cell& c : cells_of(d))
      for_each(c.lo, c.hi, [&](const Shape& at) {
        ASSERT_TRUE(found[at].empty()) << to_string(d);
        for (const CellOwner& o : c.owners) {
          found[at].insert(o.rank);
          ASSERT_EQ(o.box->rank, o.rank);
        }
        ASSERT_EQ(found[at].size(), c.owners.size());
      });
    ASSERT_EQ(found, expected) << to_string(d);
  }
}

TEST(Cells, EqualBoxesAreOneCell) {
  const Distribution d = parse_distribution("(9,9) boxes 3[0:9,0:9] 1[0:9,0:9] 1[0:9,0:9] 2[9:9,0:9]");
  const std::vector<Cell> cells = cells_of(d);
  ASSERT_EQ(cells.size(), 1u);
  ASSERT_EQ(cells[0].owners.size(), 2u);
  EXPECT_EQ(cells[0].owners[0].rank, 1);
  EXPECT_EQ(cells[0].owners[0].region, 0);
}

TEST(FirstMissing, IsTheFirstIndexThatNoCellHas) {
  test::Rng rng(6);
  int missed = 0;
  for (int i = 0; i < 2000; ++i) {
    const Shape shape = test::random_shape(rng, 4, 300);
    const Distribution src = test::random_boxes(rng, shape, 6, true, false);
    const Distribution dst = test::random_splits(rng, shape, 3);
    std::set<Shape> has;
    for (const Box& b : src.boxes) for_each(b.lo, b.hi, [&](const Shape& at) { has.insert(at); });
    for (int rank = 0; rank < 3; ++rank) {
      if (regions_of(dst, rank) == 0) continue;
      std::optional<Shape> first;
      test::for_each_index(dst, rank, 0, [&](const Shape& at) {
        if (!first && !has.contains(at)) first = at;
      });
      ASSERT_EQ(first_missing(regions(dst, rank)[0], cells_of(src)), first)
          << to_string(src) << " -> " << to_string(dst);
      missed += first ? 1 : 0;
    }
  }
  EXPECT_GT(missed, 100);
}

}  // namespace
}  // namespace restride::distributed
