// How a copy is shared among threads: how many are worth it, and which tasks each gets.
#pragma once

#include <cstdint>

#include "src/cpu/args.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

/// Bytes of data below which another thread costs more than it brings.
inline constexpr std::int64_t kBytesPerThread = 256 << 10;
/// Tasks that a copy worth several threads is cut into, where nothing else says how.
inline constexpr std::int64_t kTasksToShare = 16;

/// Threads worth using for this much data: none for small work.
int threads_that_pay(const layout::Canonical& c, int allowed) noexcept;

/// The tasks of a plan, in shares of one size.
struct Shares {
  std::int64_t count = 1;       ///< of those that are not empty; no more than there are threads
  std::int64_t tasks_each = 0;  ///< the last one may have fewer
};
Shares shares_of(const CommonArgs& a, int threads) noexcept;

}  // namespace restride::cpu
