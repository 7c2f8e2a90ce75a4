// Asking for huge pages, and saying in the log where there are none to be had.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "src/base/huge_pages.h"
#include "src/base/log.h"

namespace restride::tools {

/// Asks for huge pages. Memory is as good without them, so nothing fails.
inline void ask_huge_pages(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  const int error = ::madvise(memory, bytes, MADV_HUGEPAGE) == 0 ? 0 : errno;
  if (base::log_is_on() && (error != 0 || base::huge_pages_are_off()))
    base::log("{} MiB have no huge pages ({}); set {} to madvise", bytes >> 20,
              error != 0 ? std::strerror(error) : "they are turned off", base::kHugePagesSetting);
#else
  (void)memory, (void)bytes;
#endif
}

}  // namespace restride::tools
