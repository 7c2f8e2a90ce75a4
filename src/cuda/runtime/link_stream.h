// A stream for stores into another GPU's memory: of the highest priority, on a part of the GPU's multiprocessors.
//
// A store that waits for the link holds up all stores behind it in the same multiprocessor, so what is copied on the
// GPU meanwhile should run on others. Half of an H100 stores as fast into a peer as all of it, a quarter with most
// kernels.
#pragma once

#include <cuda_runtime_api.h>

#include "src/cuda/runtime/driver.h"

namespace restride::cuda {

/// A stream and, with a driver of 12.8 or newer, the green context that it is one of. Without one it is an ordinary
/// stream of the whole GPU. Older drivers have green contexts, too, from 12.4 on; they were not tried.
struct LinkStream {
  cudaStream_t stream = nullptr;
#if CUDA_VERSION >= 12050
  CUgreenCtx part = nullptr;
#endif
};

#if CUDA_VERSION >= 12050
/// Half of the multiprocessors; null where there are few, or the driver is older.
inline CUgreenCtx half_of_device(int device) noexcept {
  constexpr unsigned kTogether = 8;  // the hardware gives them out in such groups
  const Driver& d = driver();
  CUdevResource all{}, half{};
  const bool is_tried = d.stream_device != nullptr && d.make_green_stream != nullptr;
  if (!is_tried || d.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) return nullptr;
  const unsigned least = all.sm.smCount / 2 / kTogether * kTogether;
  unsigned parts = 1;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx out = nullptr;
  const bool is_made = least > 0 && d.split_multiprocessors(&half, &parts, &all, nullptr, 0, least) == CUDA_SUCCESS &&
                       d.describe_resources(&description, &half, 1) == CUDA_SUCCESS &&
                       d.make_green_context(&out, description, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
  return is_made ? out : nullptr;
}
#endif

/// `device` is the thread's current one.
inline cudaError_t make_link_stream(int device, LinkStream* made) noexcept {
  int least = 0, most = 0;
  if (const cudaError_t rc = cudaDeviceGetStreamPriorityRange(&least, &most); rc != cudaSuccess) return rc;
#if CUDA_VERSION >= 12050
  if (made->part = half_of_device(device); made->part != nullptr) {
    if (driver().make_green_stream(&made->stream, made->part, CU_STREAM_NON_BLOCKING, most) == CUDA_SUCCESS)
      return cudaSuccess;
    static_cast<void>(driver().destroy_green_context(made->part));
    made->part = nullptr;
  }
#else
  static_cast<void>(device);
#endif
  return cudaStreamCreateWithPriority(&made->stream, cudaStreamNonBlocking, most);
}

/// Waits for its work: a green context must not end before.
inline void destroy_link_stream(const LinkStream& stream) noexcept {
  static_cast<void>(cudaStreamSynchronize(stream.stream));
  static_cast<void>(cudaStreamDestroy(stream.stream));
#if CUDA_VERSION >= 12050
  if (stream.part != nullptr) static_cast<void>(driver().destroy_green_context(stream.part));
#endif
}

}  // namespace restride::cuda
