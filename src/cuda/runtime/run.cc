// Runs a prepared copy on a device.
#include "src/cuda/kernels.h"
#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/driver.h"
#include "src/cuda/runtime/scopes.h"

namespace restride::cuda {

int run_cuda(int device, const CudaArgs& args, void* dst, const void* src, void* stream) noexcept {
  if (args.kernel == nullptr) return cudaSuccess;
  const LastErrorGuard guard;
  const CurrentDevice current(device);
  if (current.status() != cudaSuccess) return current.status();
  void* const encode = has_bulk_copies(device) ? driver().tensor_map_encode : nullptr;
  return args.kernel->launch(args, {dst, src, static_cast<CUstream_st*>(stream), encode});
}

}  // namespace restride::cuda
