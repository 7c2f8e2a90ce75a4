// How much stack threads have, and how much a copy needs.
#pragma once

#include <pthread.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>

namespace restride::cpu {

/// What a thread must have that copies: a task needs 512 KiB, the public headers say. The rest is for what calls it and
/// for thread-local data, which lie on the same memory; ThreadSanitizer's are larger than all of it.
#ifdef __SANITIZE_THREAD__
inline constexpr std::size_t kStackBytes = 8 << 20;
#else
inline constexpr std::size_t kStackBytes = 1 << 20;
#endif

/// What OpenMP reads from OMP_STACKSIZE: a number, of KiB unless B, K, M or G stands behind it, spaces anywhere around.
/// Nothing where it is none, which OpenMP passes over.
inline std::optional<std::size_t> parse_stack_bytes(const char* text) noexcept {
  const auto skip_spaces = [&text] {
    while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
  };
  if (text == nullptr) return std::nullopt;
  errno = 0;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  if (errno != 0 || end == text) return std::nullopt;
  text = end;
  skip_spaces();
  int shift = 10;
  if (*text != '\0') {
    switch (std::tolower(static_cast<unsigned char>(*text++))) {
      case 'b': shift = 0; break;
      case 'k': break;
      case 'm': shift = 20; break;
      case 'g': shift = 30; break;
      default: return std::nullopt;
    }
    skip_spaces();
    if (*text != '\0') return std::nullopt;
  }
  if (number << shift >> shift != number) return std::nullopt;
  return number << shift;
}

/// The stack of a thread of which nobody says how large it is: glibc takes the soft RLIMIT_STACK that the process began
/// with.
inline std::size_t default_stack_bytes() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return 0;
  std::size_t bytes = 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// The stack of the threads of OpenMP's team. Looked up once, as OpenMP does.
inline std::size_t team_stack_bytes() noexcept {
  static const std::size_t bytes = [] {
    for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"})
      if (const auto asked = parse_stack_bytes(std::getenv(name))) return *asked;
    return default_stack_bytes();
  }();
  return bytes;
}

}  // namespace restride::cpu
