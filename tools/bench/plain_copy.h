// Plain copies on the CPU: the ceiling that a rearrangement is compared with.
#pragma once

#include <cstdint>

namespace restride::bench {

/// Copies through memory that is not read again soon: stores that bypass the caches, in the widest vectors that
/// this CPU has. The best that a copy larger than the caches can do. Falls back to memcpy on other than x86-64.
void copy_streaming(void* dst, const void* src, std::int64_t bytes) noexcept;

/// True when copy_streaming is more than memcpy here.
bool has_streaming_copy() noexcept;

/// "avx512f", "avx2", "sse2", or "none".
const char* streaming_isa() noexcept;

}  // namespace restride::bench
