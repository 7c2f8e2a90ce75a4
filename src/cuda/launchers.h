// One launcher a family: picks the kernel's instance for a prepared launch. Each returns a cudaError_t.
#pragma once

#include "src/cuda/launch.h"

namespace restride::cuda {

/// Variants of the tile kernel (KernelKey::variant).
inline constexpr std::uint8_t kTileCollect = 0;  ///< units collected one by one; any alignment
inline constexpr std::uint8_t kTileBlock =
    1;  ///< units of 1 and 2 bytes transposed in registers; rows of src on 4 bytes
inline constexpr std::uint8_t kTileAligned = 2;          ///< rows of both sides on words
inline constexpr std::uint8_t kTileBulk = 3;             ///< the same, by bulk tensor copies
inline constexpr std::uint8_t kTileChains = 4;           ///< rows that are several modes, on words
inline constexpr std::uint8_t kTilePixels = 5;           ///< of pixels, whose units both sides have in one order
inline constexpr std::uint8_t kTilePixelsBackwards = 6;  ///< of pixels whose units src has in the opposite order

int launch_rows(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_rows_cast(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_rows_pixels(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_rows_short(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_tile(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_tile_aligned(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_tile_bulk(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream,
                     void* encode_tensor_map) noexcept;
int launch_tile_chains(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_tile_pixels(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed_records(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed_direct(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_packed_planes(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_records_cast(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;
int launch_gather(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept;

}  // namespace restride::cuda
