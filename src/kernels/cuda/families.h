// One launcher a family: picks the kernel's instance for a prepared launch. Each returns a cudaError_t.
#pragma once

#include "src/kernels/cuda/launch.h"

namespace restride::cuda {

/// Variants of the tile kernel (KernelKey::variant).
inline constexpr std::uint8_t kTileCollect = 0;  ///< units collected one by one; any alignment
inline constexpr std::uint8_t kTileBlock = 1;    ///< units of 1 and 2 bytes transposed in registers; aligned rows

int launch_rows(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_tile(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed_records(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_gather(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;

}  // namespace restride::cuda
