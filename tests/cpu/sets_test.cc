#include "src/cpu/sets.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(BlockOf, IsEvenAndOfWholeLinesWhereThatCostsLittle) {
  EXPECT_EQ(chunk_of(100, 4, 4096), 100) << "all of it fits";
  EXPECT_EQ(chunk_of(1400, 4, 4096), 1400) << "half as much again is not cut";
  EXPECT_EQ(chunk_of(4096, 4, 4096), 1024);
  EXPECT_EQ(chunk_of(2000, 4, 4096) % 16, 0) << "two chunks of whole lines";
}

}  // namespace
}  // namespace restride::cpu
