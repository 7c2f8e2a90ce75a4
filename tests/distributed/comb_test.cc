#include "src/distributed/comb.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/distributed/random_distribution.h"

namespace restride::distributed {
namespace {

using test::pick;
using test::Rng;

std::vector<std::int64_t> indices(const Comb& c) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = c.start; k < c.end; k += c.step)
    for (std::int64_t j = k; j < std::min(k + c.length, c.end); ++j) out.push_back(j);
  return out;
}

Comb random_comb(Rng& rng) {
  const std::int64_t end = pick(rng, 0, 120), start = pick(rng, 0, end);
  if (pick(rng, 0, 2) == 0) return interval(start, end);
  const std::int64_t length = pick(rng, 1, pick(rng, 0, 1) == 0 ? 4 : 30);
  return {start, length, length * pick(rng, 1, 6) + (pick(rng, 0, 1) == 0 ? 0 : pick(rng, 0, 5)), end};
}

TEST(Comb, NumbersItsIndicesThrough) {
  Rng rng(1);
  for (int i = 0; i < 3000; ++i) {
    const Comb c = random_comb(rng);
    const std::vector<std::int64_t> all = indices(c);
    ASSERT_EQ(c.size(), static_cast<std::int64_t>(all.size()));
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_EQ(c.local(all[k]), static_cast<std::int64_t>(k));
      EXPECT_EQ(c.global(static_cast<std::int64_t>(k)), all[k]);
    }
    for (std::int64_t at = 0; at < 125; ++at) {
      const bool has = std::binary_search(all.begin(), all.end(), at);
      EXPECT_EQ(c.has(at), has);
      const auto next = std::lower_bound(all.begin(), all.end(), at);
      if (next != all.end())
        EXPECT_EQ(c.next(at), *next);
      else
        EXPECT_GE(c.next(at), c.end);
    }
  }
}

TEST(Intersect, FindsEveryCommonIndexOnceAndItsPlaceOnBothSides) {
  Rng rng(2);
  for (int i = 0; i < 30000; ++i) {
    const Comb src = random_comb(rng), dst = random_comb(rng);
    AxisPieces pieces;
    intersect(src, dst, pieces);
    std::map<std::int64_t, int> found;
    for (const AxisPiece& p : pieces)
      for (std::int64_t k = 0; k < p.count; ++k)
        for (std::int64_t j = 0; j < p.length; ++j) {
          const std::int64_t at = p.first + k * p.step + j;
          ++found[at];
          ASSERT_TRUE(src.has(at) && dst.has(at));
          ASSERT_EQ(p.src_first + k * p.src_step + j, src.local(at));
          ASSERT_EQ(p.dst_first + k * p.dst_step + j, dst.local(at));
        }
    std::int64_t common = 0;
    for (std::int64_t at : indices(src))
      if (dst.has(at)) {
        ++common;
        ASSERT_EQ(found[at], 1) << at;
      }
    ASSERT_EQ(size(pieces), common);
  }
}

TEST(Intersect, CyclicCombsTakeFewPiecesWhateverTheirBlocks) {
  // 10^15 indices, dealt in blocks of 64 over 4 and of 128 over 4: a handful of strided pieces.
  const std::int64_t n = 1'000'000'000'000'000;
  AxisPieces pieces;
  intersect({64, 64, 256, n}, {128, 128, 512, n}, pieces);
  EXPECT_LE(pieces.size(), 2u);
  pieces.clear();
  intersect({0, 64, 64 * 7, n}, {96, 96, 96 * 5, n}, pieces);
  EXPECT_LE(pieces.size(), 2u * (64 + 96) / 32 + 2);
  // Blocks of sizes without a common divisor: every seventh and every eleventh index meet once in 77.
  pieces.clear();
  intersect({3, 1, 7, n}, {5, 1, 11, n}, pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].first % 7, 3);
  EXPECT_EQ(pieces[0].first % 11, 5);
  EXPECT_EQ(pieces[0].step, 77);
  EXPECT_EQ(pieces[0].count, (n - 1 - pieces[0].first) / 77 + 1);
}

TEST(Clip, KeepsWhatTheTargetNumbersWithin) {
  Rng rng(4);
  for (int i = 0; i < 20000; ++i) {
    AxisPiece p;
    p.length = pick(rng, 1, 6);
    p.count = pick(rng, 1, 5);
    p.first = pick(rng, 0, 9);
    p.src_first = pick(rng, 0, 9);
    p.dst_first = pick(rng, 0, 9);
    if (p.count > 1) {
      p.dst_step = p.length + pick(rng, 0, 4);
      p.src_step = p.length + pick(rng, 0, 4);
      p.step = p.length + pick(rng, 0, 4);
    }
    const std::int64_t lo = pick(rng, 0, 50), hi = lo + pick(rng, 0, 30);
    AxisPieces pieces;
    clip(p, lo, hi, pieces);
    EXPECT_LE(pieces.size(), 3u);
    std::vector<std::vector<std::int64_t>> got, wanted;
    const auto list = [](const AxisPiece& q, auto take) {
      for (std::int64_t k = 0; k < q.count; ++k)
        for (std::int64_t j = 0; j < q.length; ++j)
          take(q.first + k * q.step + j, q.src_first + k * q.src_step + j, q.dst_first + k * q.dst_step + j);
    };
    for (const AxisPiece& q : pieces) list(q, [&](auto g, auto s, auto d) { got.push_back({g, s, d + lo}); });
    list(p, [&](auto g, auto s, auto d) {
      if (d >= lo && d < hi) wanted.push_back({g, s, d});
    });
    ASSERT_EQ(got, wanted);
  }
}

TEST(Intersect, HugeStepsDoNotOverflow) {
  const std::int64_t n = std::int64_t{1} << 60, p = (std::int64_t{1} << 50) - 27, q = (std::int64_t{1} << 50) - 35;
  AxisPieces pieces;
  intersect({0, p / 2, p, n}, {0, q / 2, q, n}, pieces);
  std::int64_t common = 0;
  for (const AxisPiece& piece : pieces) common += piece.size();
  EXPECT_GT(common, 0);
  EXPECT_LE(common, n / 2 + p);
}

}  // namespace
}  // namespace restride::distributed
