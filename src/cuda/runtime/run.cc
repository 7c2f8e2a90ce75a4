// Runs a prepared copy on a device.
#include "src/cuda/kernels.h"
#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/driver.h"
#include "src/cuda/runtime/scopes.h"

namespace restride::cuda {
namespace {

/// cuTensorMapEncodeTiled, where bulk copies may run on the device.
void* tensor_map_encode(int device) noexcept { return has_bulk_copies(device) ? driver().tensor_map_encode : nullptr; }

/// Kernels take parameters of 32,764 bytes from this driver on; before, 4,096.
bool has_large_parameters() noexcept {
  constexpr int kFirst = 12010;
  static const bool has = [] {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess && version >= kFirst;
  }();
  return has;
}

}  // namespace

int run_cuda(int device, const CudaArgs& args, void* dst, const void* src, void* stream) noexcept {
  if (args.kernel == nullptr) return cudaSuccess;
  LastErrorGuard guard;
  const CurrentDevice current(device);
  if (current.status() != cudaSuccess) return current.status();
  const int status =
      args.kernel->launch(args, {dst, src, static_cast<CUstream_st*>(stream), tensor_map_encode(device)});
  if (status == cudaSuccess) guard.succeeded();
  return status;
}

int run_cuda_many(int device, const CudaArgs& args, const PointerPairs& pairs, void* stream) noexcept {
  if (args.kernel == nullptr || pairs.count == 0) return cudaSuccess;
  LastErrorGuard guard;
  const CurrentDevice current(device);
  if (current.status() != cudaSuccess) return current.status();
  auto* const on = static_cast<CUstream_st*>(stream);
  if (pairs.count > 1 && args.kernel->launch_pairs != nullptr) {
    const int status = args.kernel->launch_pairs(args, {pairs, on, has_large_parameters()});
    if (status == cudaSuccess) guard.succeeded();
    if (status != kOneByOne) return status;
  }
  void* const encode = tensor_map_encode(device);
  for (std::size_t i = 0; i < pairs.count; ++i)
    if (const int status = args.kernel->launch(args, {pairs.dst[i], pairs.src[i], on, encode}); status != cudaSuccess)
      return status;
  return cudaSuccess;
}

}  // namespace restride::cuda
