#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

using Shape = std::vector<std::int64_t>;

/// The global indices on axis 0 that a rank has.
Shape rows(const char* text, int rank) {
  const Distribution d = parse_distribution(text);
  Shape out;
  if (regions_of(d, rank) == 0) return out;
  for (std::int64_t i = 0; i < local_shape(d, rank)[0]; ++i) out.push_back(global_index(d, rank, 0, 0, i));
  return out;
}

template <class E>
std::string message(const char* text) {
  try {
    parse_distribution(text);
  } catch (const E& e) {
    return e.what();
  } catch (const Error& e) {
    return std::string("another error: ") + e.what();
  }
  return "no error";
}

TEST(Distribution, BalancedBlocksGiveTheRemainderToTheFirst) {
  EXPECT_EQ(rows("(7) as (block[0]) over (3)", 0), (Shape{0, 1, 2}));
  EXPECT_EQ(rows("(7) as (block[0]) over (3)", 1), (Shape{3, 4}));
  EXPECT_EQ(rows("(7) as (block[0]) over (3)", 2), (Shape{5, 6}));
  EXPECT_EQ(rows("(2) as (block[0]) over (3)", 2), Shape{});
}

TEST(Distribution, CeilingBlocksLeaveTheLastShortOrEmpty) {
  EXPECT_EQ(rows("(7) as (ceil[0]) over (3)", 1), (Shape{3, 4, 5}));
  EXPECT_EQ(rows("(7) as (ceil[0]) over (3)", 2), (Shape{6}));
  EXPECT_EQ(rows("(9) as (ceil[0]) over (8)", 4), (Shape{8}));
  EXPECT_EQ(rows("(9) as (ceil[0]) over (8)", 5), Shape{});
}

TEST(Distribution, CyclicBlocksAreDealtFromTheFirstOwnerOn) {
  EXPECT_EQ(rows("(11) as (cyclic:2[0]) over (3)", 0), (Shape{0, 1, 6, 7}));
  EXPECT_EQ(rows("(11) as (cyclic:2[0]) over (3)", 2), (Shape{4, 5, 10}));
  EXPECT_EQ(rows("(11) as (cyclic:2[0]@1) over (3)", 1), (Shape{0, 1, 6, 7}));
  EXPECT_EQ(rows("(5) as (cyclic[0]) over (2)", 1), (Shape{1, 3}));
}

TEST(Distribution, ASecondSplitDividesTheFirstsParts) {
  // DTensor's Shard(0), Shard(0) on a mesh of 2 x 3: 10 -> 5, 5 -> 2, 2, 1.
  EXPECT_EQ(rows("(10) as (ceil[0]/ceil[1]) over (2,3)", 0), (Shape{0, 1}));
  EXPECT_EQ(rows("(10) as (ceil[0]/ceil[1]) over (2,3)", 2), (Shape{4}));
  EXPECT_EQ(rows("(10) as (ceil[0]/ceil[1]) over (2,3)", 3), (Shape{5, 6}));
  // One split over both axes: 10 over 6 parts of two.
  EXPECT_EQ(rows("(10) as (ceil[0,1]) over (2,3)", 3), (Shape{6, 7}));
  // The other grid axis the major one: rank 1 is at (0, 1), part 1 * 2 + 0.
  EXPECT_EQ(rows("(12) as (block[1,0]) over (2,3)", 1), (Shape{4, 5}));
}

TEST(Distribution, RanksFollowTheGridsStridesOrTheList) {
  EXPECT_EQ(rows("(6) as (block[0]) over (2,3):(1,2)", 5), (Shape{3, 4, 5}));
  EXPECT_EQ(rows("(6) as (block[0]) over (2,3):(1,2)", 4), (Shape{0, 1, 2}));
  EXPECT_EQ(rows("(6) as (block[0]) over (3):(-2)@9", 9), (Shape{0, 1}));
  EXPECT_EQ(rows("(6) as (block[0]) over (3)=(7,1,4)", 1), (Shape{2, 3}));
  EXPECT_EQ(rows("(6) as (block[0]) over (3)=(7,1,4)", 2), Shape{});
  EXPECT_EQ(ranks_of(parse_distribution("(6) as (block[0]) over (3)=(7,1,4)")), 8);
  EXPECT_EQ(ranks_of(parse_distribution("(6) as (block[0]) over (3):(-2)@9")), 10);
  EXPECT_EQ(ranks_of(parse_distribution("(6) as (*) over (2,3)@4")), 10);
}

TEST(Distribution, DenseLayoutsFollowTheMemoryOrder) {
  const Distribution d = parse_distribution("(6,4) as (block[0],*) over (2) order (1,0)");
  EXPECT_EQ(to_string(local_layouts(d, 1, DType::kF32).at(0)), "f32 (3,4):(1,3)");
  const Distribution boxes = parse_distribution("(6,4) boxes 0[0:6,0:1] 1[0:6,1:2] 0[2:4,2:4]");
  const std::vector<Layout> of0 = local_layouts(boxes, 0, DType::kU8);
  ASSERT_EQ(of0.size(), 2u);
  EXPECT_EQ(to_string(of0[1]), "u8 (2,2):(2,1)@6");
}

TEST(Distribution, EveryIndexOfAGridLiesOnEveryReplicaOnce) {
  test::Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    const Shape shape = test::random_shape(rng, 4, 200);
    const Distribution d = test::random_splits(rng, shape, 12);
    std::map<Shape, int> seen;
    std::int64_t places = 1, all = 1;
    for (std::int64_t n : d.grid.sizes) places *= n;
    for (std::int64_t n : shape) all *= n;
    for (const auto& splits : d.axes)
      for (const Split& s : splits)
        for (int g : s.grid_axes) places /= d.grid.sizes[static_cast<std::size_t>(g)];
    for (int rank = 0; rank < ranks_of(d); ++rank)
      if (regions_of(d, rank) > 0) test::for_each_index(d, rank, 0, [&](const Shape& index) { ++seen[index]; });
    ASSERT_EQ(static_cast<std::int64_t>(seen.size()), all) << to_string(d);
    for (const auto& [index, times] : seen) ASSERT_EQ(times, places) << to_string(d);
  }
}

TEST(Distribution, ErrorsNameTheAxisTheRankAndTheRemedy) {
  EXPECT_EQ(message<ArgumentError>("(4,4) as (block[0],block[0]) over (2)"),
            "grid axis 0 splits axis 0 and axis 1; split each axis over grid axes of its own");
  EXPECT_EQ(message<ArgumentError>("(4,4) as (block[1],*) over (2)"),
            "axis 0 is split over grid axis 1, but the grid (2) has 1; use one of 0 to 0, or a grid with more axes");
  EXPECT_EQ(message<ShapeError>("(4,4) as (block[0]) over (2)"),
            "the shape (4,4) has 2 axes, but 1 are distributed; give each axis its splits or '*'");
  EXPECT_EQ(message<ArgumentError>("(4) as (cyclic:0[0]) over (2)"),
            "axis 0 has cyclic blocks of 0; blocks are 1 or more");
  EXPECT_EQ(message<ArgumentError>("(4) as (cyclic[0]@2) over (2)"),
            "axis 0 gives its first block to part 2 of 2; use one of 0 to 1");
  EXPECT_EQ(message<ArgumentError>("(4) as (cyclic[0]/block[1]) over (2,2)"),
            "axis 0 is split further behind a cyclic split; put the cyclic one last");
  EXPECT_EQ(message<ArgumentError>("(4) as (*) over (2,2):(1,1)"),
            "the grid (2,2) with strides (1,1) has rank 1 in two places; use strides that keep them apart");
  EXPECT_EQ(message<ArgumentError>("(4) as (*) over (2)=(1,1)"),
            "rank 1 is listed twice; give each place of the grid a rank of its own");
  EXPECT_EQ(message<ArgumentError>("(4) as (*) over (3):(-1)"),
            "the grid (3) reaches rank -2; ranks run from 0 to 2^20-1, so change its strides or first rank");
  EXPECT_EQ(message<RangeError>("(4) as (*) over (1048576,2)"),
            "the grid (1048576,2) has more than 2^20 ranks; use a smaller one");
  EXPECT_EQ(message<ShapeError>("(4,5) boxes 3[0:4,2:6]"),
            "box 0 of rank 3 has [2,6) on axis 1, which has the indices 0 to 4; keep 0 <= lo <= hi <= 5");
  EXPECT_EQ(message<ArgumentError>("(4,5) as (*,*) over (1) order (1,1)"),
            "order (1,1) is no order of 2 axes; name each of 0 to 1 once");
  EXPECT_EQ(message<RangeError>("(1152921504606846976,2) as (*,*) over (1)"),
            "the shape (1152921504606846976,2) has more than 2^60 elements; use smaller extents");
  EXPECT_EQ(message<ArgumentError>("(-1) as (*) over (1)"), "axis 0 has extent -1; extents are 0 or more");
}

}  // namespace
}  // namespace restride::distributed
