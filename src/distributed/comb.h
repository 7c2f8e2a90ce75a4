// Combs: the indices of one axis that one rank has, and the intersection of two ranks' combs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/base/checked.h"

namespace restride::distributed {

/// Indices start + k*step + j, 0 <= j < length, below end. Block, cyclic and whole axes are all combs. The local index
/// of an index is its number among the rank's indices in ascending order.
/// Invariants: 0 <= start <= end; 1 <= length <= step; start == end when there are none.
struct Comb {
  std::int64_t start = 0;
  std::int64_t length = 1;
  std::int64_t step = 1;
  std::int64_t end = 0;
  friend constexpr bool operator==(const Comb&, const Comb&) = default;

  constexpr bool empty() const noexcept { return start >= end; }
  /// One block.
  constexpr bool single() const noexcept { return end - start <= length; }
  constexpr std::int64_t size() const noexcept {
    if (empty()) return 0;
    const std::int64_t blocks = (end - start) / step;
    return blocks * length + std::min(length, (end - start) % step);
  }
  /// The local number of a global index that it has.
  constexpr std::int64_t local(std::int64_t i) const noexcept {
    return (i - start) / step * length + (i - start) % step;
  }
  /// The global index of a local number below size().
  constexpr std::int64_t global(std::int64_t i) const noexcept { return start + i / length * step + i % length; }
  constexpr bool has(std::int64_t i) const noexcept { return i >= start && i < end && (i - start) % step < length; }
  /// The first index >= i that it has; `end` or more when there is none.
  constexpr std::int64_t next(std::int64_t i) const noexcept {
    if (i <= start) return empty() ? end : start;
    const std::int64_t in = (i - start) % step;
    return in < length ? i : i - in + step;
  }
};

/// The comb of [lo, hi).
constexpr Comb interval(std::int64_t lo, std::int64_t hi) noexcept {
  const std::int64_t n = std::max<std::int64_t>(hi - lo, 1);
  return {lo, n, n, std::max(lo, hi)};
}

/// What two combs have in common, or a part of it: `count` blocks of `length` indices, the first at global index
/// `first`, `step` apart; where they begin in the numbering of either side, and how far apart they are there.
struct AxisPiece {
  std::int64_t first = 0, length = 1, step = 0, count = 1;
  std::int64_t src_first = 0, src_step = 0;
  std::int64_t dst_first = 0, dst_step = 0;
  constexpr std::int64_t size() const noexcept { return length * count; }
  friend constexpr bool operator==(const AxisPiece&, const AxisPiece&) = default;
};
using AxisPieces = std::vector<AxisPiece>;

/// Appends the pieces of src and dst in common: disjoint, together all of it. Two single blocks make one piece at most,
/// a block and a cyclic comb three, two cyclic ones about (src.length + dst.length) / gcd(src.step, dst.step), whatever
/// the number of blocks.
void intersect(const Comb& src, const Comb& dst, AxisPieces& out);

/// Appends the part of `piece` with the target's numbers [lo, hi), counted from lo: three pieces at most.
void clip(const AxisPiece& piece, std::int64_t lo, std::int64_t hi, AxisPieces& out);

inline std::int64_t size(const AxisPieces& pieces) noexcept {
  std::int64_t n = 0;
  for (const AxisPiece& p : pieces) n += p.size();
  return n;
}

}  // namespace restride::distributed
