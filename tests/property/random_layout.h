// Random copies: two layouts of one element count and the memory they live in, from a printed seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <restride/restride.hpp>

namespace restride::test {

using Rng = std::mt19937_64;

inline std::int64_t pick(Rng& rng, std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
}

struct Case {
  Layout dst;
  Layout src;
};

/// What a random case may contain; `elements` bounds the size.
struct Limits {
  std::int64_t elements = 4000;
  int rank = 6;
  bool casts = true;
  bool reshapes = true;
};

/// A dst that writes each element once and a src of the same count: random rank, extents (short ones and 1s
/// often), order, gaps, flips, broadcasts (src), odd byte strides, odd element sizes, slices, other shapes; one in five
/// has pixels: a few channels together on both sides, in either direction, with or without a gap.
Case random_case(Rng& rng, const Limits& limits = {});

/// A byte buffer that covers a layout, surrounded by a margin of known bytes.
class Arena {
 public:
  static constexpr std::int64_t kMargin = 96;
  /// Fills with `fill(i)`; `skew` shifts the start, so that data pointers have any alignment.
  Arena(const Layout& layout, std::int64_t skew, std::uint64_t seed);
  void* data() noexcept { return bytes_.data() + origin_; }
  std::vector<std::uint8_t>& bytes() noexcept { return bytes_; }
  const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; }
  std::int64_t origin() const noexcept { return origin_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::int64_t origin_ = 0;
};

/// The naive loop: element i of dst in C order gets element i of src. Reviewable by eye; slow.
void naive_copy(const Layout& dst, void* dst_data, const Layout& src, const void* src_data);

}  // namespace restride::test
