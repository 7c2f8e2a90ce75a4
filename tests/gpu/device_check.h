// Filling and checking arrays too large for the host's naive loop, by kernels of the tests' own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include <restride/layout.hpp>

namespace restride::test {

/// Word i of memory becomes a hash of i and `seed`. `data`: 8-byte aligned.
void fill_hashed(void* data, std::int64_t bytes, std::uint64_t seed, cudaStream_t stream);

/// Number of elements of dst that differ from src's element of the same number in C order.
std::int64_t count_differences(const void* dst, const Layout& dst_layout, const void* src, const Layout& src_layout,
                               cudaStream_t stream);

/// Number of bytes of [0, bytes) that are not `value`.
std::int64_t count_bytes_other_than(const void* data, std::int64_t bytes, std::uint8_t value, cudaStream_t stream);

/// A kernel of one thread that takes about so long.
void launch_delay(std::int64_t microseconds, cudaStream_t stream);

/// A kernel that does nothing: what a launch costs by itself.
void launch_empty(cudaStream_t stream);

}  // namespace restride::test
