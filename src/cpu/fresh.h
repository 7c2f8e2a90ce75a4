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

/// True where a destination of 4 MiB or more seems to have no pages yet: the one of its middle element is not there.
/// Asks the kernel and reads no memory; of any pointer and layout, checked or not.
bool has_no_pages(const void* dst_data, const Layout& dst) noexcept;

/// True where the caller said that a destination is fresh, or where it has no pages.
inline bool is_fresh(FreshDestination said, const void* dst_data, const Layout& dst) noexcept {
  return said != FreshDestination::kOff || has_no_pages(dst_data, dst);
}

/// Asks the kernel for the pages of a fresh destination: whole pages inside its stretches, nothing else. A refusal
/// changes nothing. `said` is what the caller asks for; all but kOff ask for huge pages. kPrefault populates all pages,
/// the others only where there are none. That is done by up to `threads` threads, of the executor if there is one.
// NOLINTNEXTLINE(bugprone-exception-escape): see fresh.cc
void prepare_fresh(void* dst_data, const Layout& dst, const layout::Canonical& c, FreshDestination said,
                   const Executor* executor, int threads) noexcept;

}  // namespace restride::cpu
