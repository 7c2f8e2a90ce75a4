// Random layouts as large as may be written down, of one shape on both sides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <restride/restride.hpp>

namespace restride::test {

/// 2^40 to kMaxBytes on the wider side, or other powers of two, with a permutation, gaps, flips and broadcasts of the
/// source.
class HugeLayouts {
 public:
  explicit HugeLayouts(unsigned seed, int least_bits = 40, int most_bits = 60)
      : random_(seed), least_bits_(least_bits), most_bits_(most_bits) {}

  /// dst and src. Errors: RangeError, of layouts that are too large to be written down.
  std::pair<Layout, Layout> next() {
    const DType dtypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};
    const DType from = dtypes[below(5)];
    const DType to = below(2) != 0 || from == DType::kC128 ? from : dtypes[below(5)];
    const std::int64_t rank = 1 + below(7);
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank));
    std::int64_t bits = least_bits_ + below(most_bits_ - least_bits_ + 1) -
                        static_cast<std::int64_t>(std::log2(std::max(size_bytes(from), size_bytes(to))));
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
  std::int64_t least_bits_, most_bits_;
};

}  // namespace restride::test
