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

/// True where a destination of a MiB or more seems to have no pages yet: the one of its middle element is not there.
/// Asks the kernel and reads no memory; of any pointer and layout, checked or not.
bool has_no_pages(const void* dst_data, const Layout& dst) noexcept;

/// Asks the kernel for a destination's pages, as `how` says: whole pages inside its stretches, nothing else. A refusal
/// changes nothing. `kOff`, for one that has none: all pages, of the size that they would come in anyway; and `kAdvise`
/// as well, if it has none. Pages are populated by up to `threads` threads, of the executor if there is one.
// NOLINTNEXTLINE(bugprone-exception-escape): see fresh.cc
void prepare_fresh(void* dst_data, const Layout& dst, const layout::Canonical& c, FreshDestination how,
                   const Executor* executor, int threads) noexcept;

}  // namespace restride::cpu
