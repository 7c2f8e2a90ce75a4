// How much stack a copy needs.
#pragma once

#include <cstddef>

namespace restride::cpu {

/// What a thread must have that copies: a task needs 512 KiB, the public headers say. The rest is for what calls it and
/// for thread-local data, which lie on the same memory; ThreadSanitizer's are larger than all of it.
#ifdef __SANITIZE_THREAD__
inline constexpr std::size_t kStackBytes = 8 << 20;
#else
inline constexpr std::size_t kStackBytes = 1 << 20;
#endif

}  // namespace restride::cpu
