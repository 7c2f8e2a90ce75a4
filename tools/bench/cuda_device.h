// A CUDA device as a benchmark device: its own stream, events around batches, buffers rotated past the L2 cache.
// Plain C++ against the runtime's API; the one kernel it has, which does nothing, is in empty_kernel.cu.
#pragma once

#include <cuda_runtime_api.h>

#include "tools/bench/device.h"
#include "tools/bench/host_memory.h"

namespace restride::bench {

/// Throws DeviceError with the call's name when a CUDA call failed.
void require_cuda(cudaError_t status, const char* call);

/// Enqueues a kernel that does nothing.
void launch_empty(cudaStream_t stream);

class CudaDevice final : public Device {
 public:
  /// Errors: DeviceError when no GPU can be used.
  CudaDevice();
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  nlohmann::json describe() const override;
  std::int64_t cache_bytes() const override { return properties_.l2CacheSize; }
  std::int64_t sector_bytes() const override { return 32; }
  double batch_ns() const override { return 2e6; }
  Options options() const override;
  void reserve(std::int64_t side_bytes, int slots) override;
  Slot slot(int index) override;
  std::span<std::byte> host_source() override;
  void publish_source() override;
  void poison_destination() override;
  std::span<std::byte> fetch_destination() override;
  void finish() override;
  double time_ns(const Contender& contender, int first_slot, int calls) override;
  std::vector<Contender> ceilings(std::int64_t read_bytes, std::int64_t written_bytes) override;
  std::vector<Peer> peers(const Case& c) override;
  std::vector<std::string> peer_names() const override;
  Contender nothing() override;

 private:
  struct Allocation {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
  };
  static void grow(Allocation& memory, std::int64_t bytes);

  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  Allocation src_, dst_;
  HostMemory host_src_, host_dst_;
  std::int64_t side_bytes_ = 0, pitch_bytes_ = 0;
  int slots_ = 0;
};

/// The CUDA peers that apply to a case: cuBLAS geam, cuTENSOR (both loaded when they are found), cudaMemcpy2D.
std::vector<Peer> cuda_peers(const Case& c, cudaStream_t stream);
std::vector<std::string> cuda_peer_names();

}  // namespace restride::bench
