// What packed's planning simulates of banks: the quick ways to count say what the plain ones do.
#include "src/cuda/packed/banks.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace restride {
namespace {

using namespace cuda;
using namespace cuda::packed;

TEST(CudaPackedBanks, SwizzledAccessesTakeTheCyclesThatLanesTake) {
  std::mt19937 random(3);
  Seen seen;
  for (int i = 0; i < 20000; ++i) {
    Lanes lanes;
    const std::uint32_t step = random() % 300, scatter = random() % 3 == 0 ? 4096 : 1 + random() % 40;
    const std::uint32_t count = 1 + random() % 32;
    for (std::uint32_t lane = 0; lane < count; ++lane) lanes.push_back(lane / (1 + i % 3) * step + random() % scatter);
    for (std::uint32_t lane = count; lane < 32; ++lane) lanes.at[lane] = 0;
    const Swizzled swizzled(lanes, seen);
    for (const std::int32_t shift : {kNoSwizzle, 3, 5, 7, 9}) {
      const int cycles = packed::cycles(lanes, shift, 32);
      ASSERT_EQ(swizzled.cycles(shift, 32), cycles) << i;
      ASSERT_LE(swizzled.least(), cycles) << i;
      const int most = 1 + static_cast<int>(random() % 8);
      if (cycles > most)
        ASSERT_GT(swizzled.cycles(shift, most), most) << i;
      else
        ASSERT_EQ(swizzled.cycles(shift, most), cycles) << i;
    }
  }
}

TEST(CudaPackedBanks, SumsOfIndexTuplesAreThoseOfTheirDigits) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    PackedModes modes;
    modes.rank = static_cast<std::int32_t>(random() % 5);
    for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) {
      modes.extent[m] = base::FastDiv(1 + random() % 12);
      modes.src_stride[m] = static_cast<std::int32_t>(random());
    }
    std::vector<std::uint32_t> sums(1 + random() % 600);
    std::uint32_t tuples = 1;
    for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) tuples *= modes.extent[m].divisor;
    sums.resize(std::min<std::size_t>(sums.size(), tuples));
    fill_sums(modes, std::span(sums), 7, [&](std::size_t m) { return modes.src_stride[m]; });
    for (std::size_t n = 0; n < sums.size(); ++n) {
      std::uint32_t want = 7, rest = static_cast<std::uint32_t>(n);
      for (std::size_t m = 0; m < static_cast<std::size_t>(modes.rank); ++m) {
        want += rest % modes.extent[m].divisor * static_cast<std::uint32_t>(modes.src_stride[m]);
        rest /= modes.extent[m].divisor;
      }
      ASSERT_EQ(sums[n], want) << i << ", " << n;
    }
  }
}

}  // namespace
}  // namespace restride
