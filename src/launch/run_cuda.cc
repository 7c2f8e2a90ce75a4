// Runs a prepared copy on a device.
#include "src/launch/cuda_scopes.h"
#include "src/launch/device.h"
#include "src/launch/driver.h"

namespace restride::launch {

int run_cuda(int device, const cuda::CudaArgs& args, void* dst, const void* src, void* stream) noexcept {
  const LastErrorGuard guard;
  const CurrentDevice current(device);
  if (current.status() != cudaSuccess) return current.status();
  // Older GPUs have no bulk tensor copies; a plan that was made for a newer one runs on them all the same.
  void* const encode = machine_of(device).cc_major >= 9 ? driver().tensor_map_encode : nullptr;
  return cuda::launch(args, dst, src, static_cast<CUstream_st*>(stream), encode);
}

}  // namespace restride::launch
