// Pages for a destination that has none yet.
#pragma once

#include <cstddef>

#include <restride/copy.hpp>

#include "src/layout/canonical.h"

namespace restride::cpu {

/// Stretches of a destination that have no gap as long as a page, repeated by the modes that are left: what pages may
/// be asked for, because a copy writes to all of them.
struct Stretches {
  std::int64_t first = 0;  ///< bytes from the data pointer to the lowest one
  std::int64_t bytes = 0;  ///< of each
  std::int64_t count = 1;
  layout::CopyModes modes;  ///< innermost first; dst strides upwards
};
Stretches stretches_of(const layout::Canonical& c, std::int64_t page_bytes);

/// Asks the kernel for a destination's pages, as `how` says: whole pages inside its stretches, nothing else. A refusal
/// changes nothing. Pages are populated by up to `threads` threads, of the executor if there is one.
// NOLINTNEXTLINE(bugprone-exception-escape): see fresh.cc
void prepare_fresh(void* dst_data, const layout::Canonical& c, FreshDestination how, const Executor* executor,
                   int threads) noexcept;

}  // namespace restride::cpu
