// Asking for huge pages, and saying in the log where there are none to be had.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "src/base/log.h"

namespace restride::tools {

/// True where the system gives none to anybody.
inline bool huge_pages_are_off() noexcept {
  std::FILE* file = std::fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
  if (file == nullptr) return false;  // madvise tells
  char text[64] = "";
  const bool never = std::fgets(text, sizeof text, file) != nullptr && std::strstr(text, "[never]") != nullptr;
  std::fclose(file);
  return never;
}

/// Asks for huge pages. Memory is as good without them, so nothing fails.
inline void ask_huge_pages(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  const int error = ::madvise(memory, bytes, MADV_HUGEPAGE) == 0 ? 0 : errno;
  if (base::log_is_on() && (error != 0 || huge_pages_are_off()))
    base::log("{} MiB have no huge pages ({}); set /sys/kernel/mm/transparent_hugepage/enabled to madvise", bytes >> 20,
              error != 0 ? std::strerror(error) : "they are turned off");
#else
  (void)memory, (void)bytes;
#endif
}

}  // namespace restride::tools
