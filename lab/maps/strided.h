// Any four modes on each side, one element a thread: divide the element's number by the extents, multiply
// the digits by the byte strides, and only then make a typed access of the sum.
#pragma once

#include <array>

#include "lab/maps/access.h"

namespace restride::lab {

/// Four modes, innermost first; strides in bytes. Source and destination may differ in shape when their
/// element counts agree: the n-th element of one goes to the n-th of the other.
struct StridedSide {
  std::int64_t extent[4] = {1, 1, 1, 1};
  std::int64_t stride_bytes[4] = {0, 0, 0, 0};

  RESTRIDE_HD constexpr std::int64_t elements() const { return extent[0] * extent[1] * extent[2] * extent[3]; }

  /// Three divisions by numbers the compiler does not know: what makes this rung slow.
  RESTRIDE_HD constexpr std::int64_t byte_of(std::int64_t n) const {
    const std::int64_t n1 = n / extent[0];
    const std::int64_t n2 = n1 / extent[1];
    const std::int64_t n3 = n2 / extent[2];
    return (n - n1 * extent[0]) * stride_bytes[0] + (n1 - n2 * extent[1]) * stride_bytes[1] +
           (n2 - n3 * extent[2]) * stride_bytes[2] + n3 * stride_bytes[3];
  }
};

/// kBytes: of a source element; kDstBytes differs when the copy casts.
template <int kBytes, int kDstBytes = kBytes>
struct CopyStrided {
  static constexpr int kElementBytes = kBytes, kDstElementBytes = kDstBytes, kThreads = 256;
  static constexpr int kLoads = 1, kStores = 1, kStageBytes = 0;
  StridedSide src;
  StridedSide dst;

  constexpr CopyStrided(const StridedSide& s, const StridedSide& d) : src(s), dst(d) {}

  /// The transpose as this family sees it: numbered in the destination's order, the source strided.
  constexpr explicit CopyStrided(const Matrix& m) {
    dst = {{m.rows, m.cols, 1, 1}, {kDstBytes, std::int64_t{m.rows} * kDstBytes, 0, 0}};
    src = {{m.rows, m.cols, 1, 1}, {std::int64_t{m.cols} * kBytes, kBytes, 0, 0}};
  }

  constexpr std::int64_t tiles() const { return ceil_div(dst.elements(), kThreads); }
  RESTRIDE_HD constexpr Access load(int tile, int thread, int) const {
    const std::int64_t n = std::int64_t{tile} * kThreads + thread;
    return {src.byte_of(n), n < src.elements() ? 1 : 0};
  }
  RESTRIDE_HD constexpr Access store(int tile, int thread, int) const {
    const std::int64_t n = std::int64_t{tile} * kThreads + thread;
    return {dst.byte_of(n), n < dst.elements() ? 1 : 0};
  }
};

}  // namespace restride::lab
