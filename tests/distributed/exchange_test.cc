#include "src/distributed/exchange.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

using Shape = std::vector<std::int64_t>;
using test::pick;

Exchange exchange(const char* src, const char* dst, Element src_element = DType::kF32,
                  Element dst_element = DType::kF32) {
  return {parse_distribution(src), src_element, parse_distribution(dst), dst_element};
}

/// Calls f(global, src local, dst local) for every index of a part.
template <class F>
void for_each_index(const Part& part, const F& f) {
  std::vector<std::vector<Shape>> axes;  // {global, src, dst} of each index on each axis
  for (const AxisPieces& pieces : part.axes) {
    axes.emplace_back();
    for (const AxisPiece& p : pieces)
      for (std::int64_t k = 0; k < p.count; ++k)
        for (std::int64_t j = 0; j < p.length; ++j)
          axes.back().push_back(
              {p.first + k * p.step + j, p.src_first + k * p.src_step + j, p.dst_first + k * p.dst_step + j});
  }
  Shape global(axes.size()), src(axes.size()), dst(axes.size());
  for (std::int64_t k = 0; k < part.elements; ++k) {
    std::int64_t rest = k;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const auto n = static_cast<std::int64_t>(axes[a].size());
      const Shape& at = axes[a][static_cast<std::size_t>(rest % n)];
      rest /= n;
      global[a] = at[0], src[a] = at[1], dst[a] = at[2];
    }
    f(global, src, dst);
  }
}

Shape global_of(const Distribution& d, int rank, int region, const Shape& local) {
  Shape out;
  for (std::size_t a = 0; a < local.size(); ++a)
    out.push_back(global_index(d, rank, region, static_cast<int>(a), local[a]));
  return out;
}

bool same(const std::vector<Part>& a, const std::vector<Part>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Part& x, const Part& y) {
    return x.src_region == y.src_region && x.dst_region == y.dst_region && x.cell == y.cell &&
           x.elements == y.elements && x.axes == y.axes;
  });
}

TEST(Exchange, BringsEveryIndexOfTheTargetOnceFromARankThatHasIt) {
  test::Rng rng(11);
  for (int i = 0; i < 2000; ++i) {
    const int ranks = static_cast<int>(pick(rng, 1, 9));
    const Shape shape = test::random_shape(rng, 4, 150);
    const Distribution src = test::random_distribution(rng, shape, ranks),
                       dst = test::random_distribution(rng, shape, ranks, false);
    const Exchange x(src, DType::kF32, dst, DType::kF32);
    SCOPED_TRACE(to_string(src) + " -> " + to_string(dst));
    std::int64_t moved = 0, least = 0;
    for (int to = 0; to < x.ranks(); ++to) {
      std::set<Shape> own;
      for (int r = 0; r < regions_of(src, to); ++r)
        test::for_each_index(src, to, r, [&](const Shape& at) { own.insert(at); });
      std::map<std::pair<int, Shape>, int> got;
      for (const PairParts& pair : x.impl().receives(to))
        for (const Part& part : pair.parts) {
          std::int64_t n = 0;
          for_each_index(part, [&](const Shape& global, const Shape& from, const Shape& into) {
            ++n;
            ++got[{part.dst_region, global}];
            ASSERT_EQ(global_of(src, pair.peer, part.src_region, from), global);
            ASSERT_EQ(global_of(dst, to, part.dst_region, into), global);
          });
          ASSERT_EQ(n, part.elements);
          if (pair.peer != to) moved += n;
        }
      std::size_t wanted = 0;
      for (int r = 0; r < regions_of(dst, to); ++r)
        test::for_each_index(dst, to, r, [&](const Shape& at) {
          ++wanted;
          ASSERT_EQ((got[{r, at}]), 1);
          if (!own.contains(at)) ++least;
        });
      ASSERT_EQ(got.size(), wanted);
    }
    const Summary s = x.summary();
    ASSERT_EQ(moved, least);
    ASSERT_EQ(s.moved_bytes, 4 * moved);
    ASSERT_EQ(s.minimum_bytes, 4 * least);
  }
}

TEST(Exchange, SendersAndReceiversListTheSameParts) {
  test::Rng rng(12);
  for (int i = 0; i < 6000; ++i) {
    const int ranks = static_cast<int>(pick(rng, 1, 24));
    const Shape shape = test::random_shape(rng, 5, 3000);
    const Exchange x(test::random_distribution(rng, shape, ranks), DType::kU8,
                     test::random_distribution(rng, shape, ranks, false), DType::kU8);
    SCOPED_TRACE(to_string(x.src()) + " -> " + to_string(x.dst()));
    std::map<std::pair<int, int>, std::vector<Part>> sent;
    for (int r = 0; r < x.ranks(); ++r)
      for (PairParts& pair : x.impl().sends(r)) sent[{r, pair.peer}] = std::move(pair.parts);
    std::size_t received = 0;
    for (int r = 0; r < x.ranks(); ++r) {
      const std::vector<Pair> pairs = x.receives(r);
      std::size_t k = 0;
      for (const PairParts& pair : x.impl().receives(r)) {
        ++received;
        const auto it = sent.find({pair.peer, r});
        ASSERT_TRUE(it != sent.end());
        ASSERT_TRUE(same(it->second, pair.parts));
        ASSERT_EQ(pairs.at(k++).bytes, pair.elements);
      }
    }
    ASSERT_EQ(received, sent.size());
  }
}

/// Ranks far too many for one machine: the sums agree, and for some ranks both sides of each pair.
void check_virtually(const char* src, const char* dst, int sampled) {
  const Exchange x = exchange(src, dst, DType::kBF16, DType::kBF16);
  const Summary s = x.summary();
  std::int64_t wanted = 0, got = 0;
  for (int r = 0; r < x.ranks(); ++r) {
    wanted += x.impl().target_elements(r);
    for (const Pair& q : x.receives(r)) got += q.elements;
  }
  EXPECT_EQ(wanted, got);
  EXPECT_EQ(s.moved_bytes, s.minimum_bytes);
  EXPECT_EQ(s.moved_bytes + s.kept_bytes, 2 * wanted);
  for (int k = 0; k < sampled; ++k) {
    const int rank = static_cast<int>((std::int64_t{k} * 2654435761) % x.ranks());
    for (const Pair& q : x.receives(rank)) {
      if (k % 7 != 0) break;
      const std::vector<Pair> sends = x.sends(q.from);
      EXPECT_NE(std::find(sends.begin(), sends.end(), q), sends.end()) << q.from << " to " << rank;
    }
  }
}

/// The part of `extent` that index `i` is in, as cuDecomp deals them: the first parts have one index more.
std::int64_t part_of(std::int64_t i, std::int64_t extent, std::int64_t parts) {
  const std::int64_t small = extent / parts, larger = extent % parts;
  return i < larger * (small + 1) ? i / (small + 1) : (i - larger) / small;
}

TEST(Exchange, MovesThePencilsThatCuDecompIsTestedWith) {
  // Its grids of 9 x 10 x 11 and 128 x 124 x 132 on 4 ranks, its moves X to Y, Y to Z and back, memory in any order.
  const std::string axes[] = {"(*,block[0],block[1])", "(block[0],*,block[1])", "(block[0],block[1],*)"};
  const char* orders[] = {"", " order (1,2,0)", " order (2,0,1)"};
  for (const Shape& n : {Shape{9, 10, 11}, Shape{128, 124, 132}})
    for (const int rows : {1, 2, 4})
      for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 1), std::pair(1, 0)})
        for (const bool by_columns : {false, true}) {
          const int columns = 4 / rows;
          const auto text = [&](int axis, const char* order) {
            return "(" + std::to_string(n[0]) + "," + std::to_string(n[1]) + "," + std::to_string(n[2]) + ") as " +
                   axes[axis] + " over (" + std::to_string(rows) + "," + std::to_string(columns) + ")" +
                   (by_columns ? ":(1," + std::to_string(rows) + ")" : "") + order;
          };
          const auto owner = [&](int axis, const std::int64_t* i) {
            const int over_rows = axis == 0 ? 1 : 0, over_columns = axis == 2 ? 1 : 2;
            const std::int64_t r = part_of(i[over_rows], n[static_cast<std::size_t>(over_rows)], rows);
            const std::int64_t c = part_of(i[over_columns], n[static_cast<std::size_t>(over_columns)], columns);
            return by_columns ? r + c * rows : r * columns + c;
          };
          std::int64_t moved = 0;
          for (std::int64_t i[3] = {0, 0, 0}; i[0] < n[0]; ++i[0])
            for (i[1] = 0; i[1] < n[1]; ++i[1])
              for (i[2] = 0; i[2] < n[2]; ++i[2]) moved += owner(from, i) != owner(to, i) ? 1 : 0;
          const Summary s = exchange(text(from, "").c_str(), text(to, orders[to]).c_str()).summary();
          EXPECT_EQ(s.moved_bytes, 4 * moved) << text(from, "") << " -> " << text(to, orders[to]);
          EXPECT_EQ(s.moved_bytes, s.minimum_bytes);
        }
}

TEST(Exchange, MovesTheMatricesThatCostaIsMeasuredWith) {
  // Blocks of 36 into 128, equal blocks, and 2 x 4 ranks into 4 x 2 with blocks of 100.
  struct Costa {
    std::int64_t n, from_block, from_rows, from_columns, to_block, to_rows, to_columns;
  };
  for (const Costa& c : {Costa{2000, 36, 4, 4, 128, 4, 4}, Costa{2000, 128, 4, 4, 128, 4, 4},
                         Costa{1000, 100, 2, 4, 100, 4, 2}, Costa{1000, 7, 1, 8, 64, 8, 1}}) {
    const auto text = [&](std::int64_t block, std::int64_t rows, std::int64_t columns) {
      const std::string n = std::to_string(c.n), b = "cyclic:" + std::to_string(block);
      return "(" + n + "," + n + ") as (" + b + "[0]," + b + "[1]) over (" + std::to_string(rows) + "," +
             std::to_string(columns) + ") order (1,0)";
    };
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < c.n; ++i)
      for (std::int64_t j = 0; j < c.n; ++j)
        moved += i / c.from_block % c.from_rows * c.from_columns + j / c.from_block % c.from_columns !=
                         i / c.to_block % c.to_rows * c.to_columns + j / c.to_block % c.to_columns
                     ? 1
                     : 0;
    const std::string from = text(c.from_block, c.from_rows, c.from_columns),
                      to = text(c.to_block, c.to_rows, c.to_columns);
    const Summary s = exchange(from.c_str(), to.c_str(), DType::kF64, DType::kF64).summary();
    EXPECT_EQ(s.moved_bytes, 8 * moved) << from << " -> " << to;
    EXPECT_EQ(s.moved_bytes, s.minimum_bytes);
  }
}

TEST(Exchange, HoldsForThousandsOfRanks) {
  check_virtually("(65536,65536) as (block[0],*) over (4096)", "(65536,65536) as (*,block[0]) over (4096)", 2);
  check_virtually("(4099,4111,17) as (block[0],block[1],*) over (64,64)",
                  "(4099,4111,17) as (*,ceil[0],cyclic[1]) over (64,64)", 8);
  check_virtually("(100000,90000) as (cyclic:64[0],cyclic:64[1]) over (32,64)",
                  "(100000,90000) as (cyclic:96[0],cyclic:128[1]) over (64,32):(1,64)", 8);
  check_virtually("(1024,1024,1024) as (block[0],block[1],*) over (16,16,8)",
                  "(1024,1024,1024) as (*,block[0],block[1]) over (32,64)@3000", 8);
}

TEST(Exchange, CountsPassTwoToThe31) {
  const Exchange x =
      exchange("(1000000,1000000) as (block[0],*) over (2)", "(1000000,1000000) as (*,block[0]) over (2)");
  EXPECT_EQ(x.sends(0).at(1).elements, 250'000'000'000);
  EXPECT_EQ(x.summary().moved_bytes, 2'000'000'000'000);
}

TEST(Exchange, AReplicaIsReadWhereItLies) {
  // Two copies over grid axis 0: each rank finds its half in its own copy, and nothing crosses between copies.
  const Exchange x = exchange("(8,8) as (block[1],*) over (2,4)", "(8,8) as (*,block[1]) over (2,4)");
  for (int r = 0; r < 8; ++r)
    for (const Pair& q : x.receives(r)) EXPECT_EQ(q.from / 4, r / 4);
  EXPECT_EQ(exchange("(8,8) as (*,*) over (8)", "(8,8) as (block[0],*) over (8)").summary().moved_bytes, 0);
  // Ranks without a copy take turns.
  const Summary s = exchange("(8,8) as (*,*) over (4)", "(8,8) as (block[0],*) over (8)@4").summary();
  EXPECT_EQ(s.senders, 4);
  EXPECT_EQ(s.most_sent, s.moved_bytes / 4);
}

TEST(Exchange, OwnersOfABoxTakeTurns) {
  const Summary s = exchange("(8,8) boxes 0[0:8,0:8] 1[0:8,0:8]", "(8,8) as (block[0],*) over (4)@2").summary();
  EXPECT_EQ(s.most_sent, s.moved_bytes / 2);
  EXPECT_EQ(exchange("(8) boxes 0[0:6] 1[4:8]", "(8) boxes 0[0:5] 1[4:8]").summary().moved_bytes, 0);
}

TEST(Exchange, HalosAreBoxesThatOverlap) {
  const Exchange x = exchange("(12) as (block[0]) over (3)", "(12) boxes 0[0:5] 1[3:9] 2[7:12]");
  EXPECT_EQ(x.summary().moved_bytes, 4 * 4);
  EXPECT_EQ(x.receives(1).size(), 3u);
}

TEST(Exchange, TheSmallerElementCrossesTheWire) {
  const char *rows = "(8,8) as (block[0],*) over (2)", *columns = "(8,8) as (*,block[0]) over (2)";
  EXPECT_EQ(exchange(rows, columns, DType::kF32, DType::kBF16).summary().moved_bytes, 2 * 32);
  EXPECT_EQ(exchange(rows, columns, DType::kU8, DType::kF64).summary().moved_bytes, 32);
}

TEST(Exchange, NamesTheFirstIndexThatNobodyHas) {
  try {
    exchange("(8,8) boxes 0[0:4,0:8] 1[4:8,0:5] 2[5:8,5:8]", "(8,8) as (block[0],*) over (4)");
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(),
                 "rank 2 of the target needs index (4,5), which no rank of the source has; add a box that "
                 "covers it to the source, or leave it out of the target");
  }
  // What the target leaves out may be missing.
  EXPECT_EQ(exchange("(8,8) boxes 0[0:4,0:8]", "(8,8) boxes 1[1:3,0:8]").summary().moved_bytes, 64);
}

TEST(Exchange, RefusesUnlikeShapesAndImpossibleCasts) {
  EXPECT_THROW(exchange("(8) as (*) over (1)", "(9) as (*) over (1)"), ShapeError);
  EXPECT_THROW(exchange("(8) as (*) over (1)", "(8,1) as (*,*) over (1)"), ShapeError);
  EXPECT_THROW(exchange("(8) as (*) over (1)", "(8) as (*) over (1)", DType::kC64, DType::kF32), CastError);
  EXPECT_THROW(exchange("(1152921504606846976) as (*) over (1)", "(1152921504606846976) as (*) over (1)"), RangeError);
}

}  // namespace
}  // namespace restride::distributed
