// What the cost model knows of a GPU and of the code that is loaded on it.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/cuda/costs.h"

namespace restride::cuda {

/// The defaults are an H200's.
struct CudaMachine {
  std::string_view name = "NVIDIA H200";  ///< whose costs these are: the nearest one's where a GPU was never measured
  const Costs* costs = &kH200Costs;       ///< of that name; lives as long as the process
  int cc_major = 9;
  int cc_minor = 0;
  int sm_count = 132;
  std::int64_t l2_bytes = 60 << 20;
  std::int64_t shared_per_sm_bytes = 228 << 10;
  std::int64_t shared_per_block_bytes = 227 << 10;  ///< opt-in maximum
  int threads_per_sm = 2048;
  bool bulk_copies = true;  ///< the kernels that this GPU runs hold bulk tensor copies, and its driver takes them
  double copy_bytes_per_ns = 4250;  ///< device-to-device copy of a large buffer, read + written
};

}  // namespace restride::cuda
