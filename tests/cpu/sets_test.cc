#include "src/cpu/sets.h"

#include <vector>

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(BlockOf, IsEvenAndOfWholeLinesWhereThatCostsLittle) {
  EXPECT_EQ(chunk_of(100, 4, 4096), 100) << "all of it fits";
  EXPECT_EQ(chunk_of(1400, 4, 4096), 1400) << "half as much again is not cut";
  EXPECT_EQ(chunk_of(4096, 4, 4096), 1024);
  EXPECT_EQ(chunk_of(2000, 4, 4096) % 16, 0) << "two chunks of whole lines";
}

TEST(MostInACacheSet, CountsTheLinesThatStartInOneOfThem) {
  const auto most = [](const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides,
                       std::int64_t points) {
    layout::Canonical c;
    ModeSet all;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      c.modes.push_back({extents[i], 0, strides[i]});
      all.modes.push_back(static_cast<std::uint8_t>(i));
      all.points *= extents[i];
    }
    return most_in_a_cache_set(c, all, Side::kSrc, points);
  };
  EXPECT_EQ(most({64}, {64}, 64), 1);
  EXPECT_EQ(most({64}, {4096}, 64), 64);
  EXPECT_EQ(most({64}, {4096}, 10), 10) << "so many points";
  EXPECT_EQ(most({64}, {2048}, 64), 32);
  EXPECT_EQ(most({64}, {4100}, 64), 16) << "four bytes further each time";
  EXPECT_EQ(most({64}, {4}, 64), 1) << "16 of them in each line";
  EXPECT_EQ(most({64}, {-4096}, 64), 64);
  EXPECT_EQ(most({4, 4}, {100, 8192}, 16), 4) << "of two modes";
  EXPECT_EQ(most({1000}, {4096}, 1000), 256) << "no more are looked at";
}

}  // namespace
}  // namespace restride::cpu
