// A prepared launch over many pairs of memory: what Plan::run_many makes of a plan. Host only: no CUDA headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cuda/launch.h"

namespace restride::cuda {

/// `count` pairs of data pointers; no bits but `dst_unlike` differ in any of dst's, and in src's the same.
struct PointerPairs {
  void* const* dst = nullptr;
  const void* const* src = nullptr;
  std::size_t count = 0;
  std::uint64_t dst_unlike = ~std::uint64_t{0}, src_unlike = ~std::uint64_t{0};
};

/// Where such launches run: pairs of memory on the current device. `large_parameters`: the driver takes parameters of
/// 32,764 bytes (12.1 and newer), not only of 4,096.
struct PairsLaunch {
  PointerPairs pairs;
  CUstream_st* stream = nullptr;
  bool large_parameters = false;
};

/// As a Launcher, for all pairs, by as few launches as the parameters of a kernel allow.
/// kOneByOne, and nothing enqueued, where the plan's arguments have no kernel for pairs.
using PairsLauncher = int(const CudaArgs& args, const PairsLaunch& on) noexcept;

inline constexpr int kOneByOne = -1;  ///< no cudaError_t

PairsLauncher launch_rows_words_pairs;

}  // namespace restride::cuda
