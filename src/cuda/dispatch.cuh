// From a plan's numbers to a kernel's instance, and onto a stream: what launchers are made of.
#pragma once

#include <cuda_runtime.h>

#include "src/cuda/launch.h"

namespace restride::cuda {

/// Calls `launch` with the one of `kSizes` that `size` is. cudaErrorInvalidValue where it is none of them.
template <int... kSizes, class F>
int with_size(int size, F launch) noexcept {
  int status = cudaErrorInvalidValue;
  (void)((size == kSizes && (status = launch.template operator()<kSizes>(), true)) || ...);
  return status;
}

/// Calls `launch` with the sizes of both sides' units, where kernels of tile and packed convert between such.
template <class F>
int with_cast_sizes(const Units& units, F launch) noexcept {
#define RESTRIDE_X(src_bytes, dst_bytes) \
  if (units.src == src_bytes && units.dst == dst_bytes) return launch.template operator()<src_bytes, dst_bytes>();
  RESTRIDE_CAST_SIZES(RESTRIDE_X)
#undef RESTRIDE_X
  return cudaErrorInvalidValue;
}

/// Enqueues one kernel; reports through its return value only.
template <class Args>
int enqueue(void (*kernel)(Args, char*, const char*), const Args& args, const Launch& on, unsigned blocks,
            unsigned threads, unsigned shared_bytes = 0) noexcept {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = on.stream;
  auto* to = static_cast<char*>(on.dst);
  const auto* from = static_cast<const char*>(on.src);
  void* params[] = {const_cast<Args*>(&args), &to, &from};
  return static_cast<int>(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), params));
}

}  // namespace restride::cuda
