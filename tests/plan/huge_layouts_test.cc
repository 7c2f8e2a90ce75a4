// Planning is arithmetic on whatever layouts somebody writes down, also on those that no memory holds: `explain` is
// asked about them, and a planner that overflows there is undefined behaviour in every caller that links it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <restride/error.hpp>

#include "src/layout/canonical.h"
#include "src/plan/cpu_planner.h"
#include "src/plan/cuda_planner.h"

namespace restride {
namespace {

/// Up to 2^63 bytes on the wider side, with a permutation, gaps, flips and broadcasts of the source.
class Huge {
 public:
  explicit Huge(unsigned seed) : random_(seed) {}

  std::pair<Layout, Layout> layouts() {
    const DType dtypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};
    const DType from = dtypes[below(5)];
    const DType to = below(2) != 0 ? from : dtypes[below(5)];
    const std::int64_t rank = 1 + below(7);
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank));
    std::int64_t bits = 40 + below(23);
    for (std::int64_t& n : extents) {
      const std::int64_t part = std::min<std::int64_t>(bits, below(30));
      bits -= part;
      n = std::max<std::int64_t>(1, (std::int64_t{1} << part) - below(3));
    }
    extents[static_cast<std::size_t>(below(rank))] *= std::int64_t{1} << bits;
    return {side(to, extents, false), side(from, extents, true)};
  }

 private:
  std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_); }

  Layout side(DType dtype, const std::vector<std::int64_t>& extents, bool source) {
    std::vector<std::size_t> order(extents.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::int64_t> strides(extents.size());
    std::int64_t stride = size_bytes(dtype) + (below(4) == 0 ? below(3) : 0);
    for (const std::size_t i : order) {
      strides[i] = stride;
      if (source && below(6) == 0) strides[i] = 0;
      if (below(6) == 0) strides[i] = -strides[i];
      if (__builtin_mul_overflow(stride, extents[i], &stride)) throw RangeError("too large to be written down");
      if (below(8) == 0 && stride < INT64_MAX - 8) stride += below(8);
    }
    return strided(dtype, extents, strides);
  }

  std::mt19937_64 random_;
};

void expect_sane(const plan::Decision& decision) {
  for (const plan::Candidate& k : decision.others) {
    EXPECT_GE(k.predicted.time_ns, 0);
    EXPECT_GE(k.predicted.read_sectors, 0);
    EXPECT_GE(k.predicted.written_sectors, 0);
  }
  EXPECT_TRUE(decision.chosen.applies);
}

TEST(Planners, ArePlainArithmeticUpToTheLargestLayouts) {
  Huge huge(3);
  int planned = 0;
  for (int i = 0; i < 100000; ++i) {
    try {
      const auto [dst, src] = huge.layouts();
      const layout::Canonical cpu = layout::canonicalize(dst, src, 64, 64);
      expect_sane(plan::plan_cpu(cpu, {}));
      expect_sane(plan::plan_cuda(cpu, {}));
      ++planned;
    } catch (const Error&) {
      // Too large to be written down, or nothing that the search for overlaps can settle.
    }
  }
  EXPECT_GT(planned, 50000);
}

}  // namespace
}  // namespace restride
