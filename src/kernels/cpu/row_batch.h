// Rows, or pieces of rows, of a walk: a few at a time, so that the next ones are known while these are moved.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/kernels/cpu/args.h"

namespace restride::kernels::cpu {

struct RowBatch {
  static constexpr std::int64_t kMost = 32;
  std::int64_t n = 0;
  std::int64_t dst[kMost];  ///< where each starts
  std::int64_t src[kMost];
  std::int64_t units[kMost];

  /// The next of the walk, of which `left` are left.
  void fill(const CpuArgs& a, NestCursor& rows, std::int64_t* left) noexcept {
    n = std::min(kMost, *left);
    *left -= n;
    for (std::int64_t i = 0; i < n; ++i) {
      dst[i] = rows.dst();
      src[i] = rows.src();
      units[i] = a.last_units != 0 && rows.index(0) == a.nest.modes[0].extent - 1 ? a.last_units : a.units;
      rows.next();
    }
  }
};

}  // namespace restride::kernels::cpu
