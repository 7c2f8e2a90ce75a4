#include <cuda_runtime_api.h>

#include <fmt/format.h>
#include <restride/error.hpp>

#include "tools/io/device_stage.h"
#include "tools/io/measure_apart.h"

namespace restride::io {
namespace {

/// Device allocations start on such a boundary; parts keep their place in it, so that they keep their alignment.
constexpr std::int64_t kAlign = 256;

void check(cudaError_t rc, const char* doing) {
  if (rc == cudaErrorMemoryAllocation)
    throw MemoryError(fmt::format("the GPU has no memory for {}; give a smaller --buffer-mib", doing));
  if (rc != cudaSuccess)
    throw DeviceError(fmt::format("CUDA failed at {}: {} ({})", doing, cudaGetErrorString(rc), cudaGetErrorName(rc)));
}

struct FreeOnDevice {
  void operator()(std::byte* p) const noexcept { (void)cudaFree(p); }
};
using DeviceBytes = std::unique_ptr<std::byte, FreeOnDevice>;

DeviceBytes allocate(std::uint64_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, bytes), "a buffer");
  return DeviceBytes(static_cast<std::byte*>(p));
}

}  // namespace

struct DeviceStage::State {
  DeviceBytes piece, part;
};

DeviceStage::DeviceStage(std::uint64_t piece_bytes, std::uint64_t part_bytes, int device)
    : state_(std::make_unique<State>()) {
  if (device >= 0) check(cudaSetDevice(device), "choosing the device");
  state_->piece = allocate(piece_bytes);
  state_->part = allocate(part_bytes + kAlign);
}

DeviceStage::~DeviceStage() = default;

double DeviceStage::copy_in(const Layout& to, const ConstTensor& from, const Options& options) {
  const auto [first, last] = byte_range(from.layout);
  if (first == last) return 0;
  std::byte* origin = state_->part.get() + (first % kAlign + kAlign) % kAlign - first;
  // Ordered behind the copy that last read the buffer; pageable memory is taken before the call returns.
  check(cudaMemcpyAsync(origin + first, static_cast<const std::byte*>(from.data) + first,
                        static_cast<std::size_t>(last - first), cudaMemcpyHostToDevice, nullptr),
        "bringing input to the GPU");
  Options here = options;
  here.stream = nullptr;
  const Tensor target{state_->piece.get(), to};
  const ConstTensor source{origin, from.layout};
  const double measured = measure_apart(target, source, here);
  copy(target, source, here);
  return measured;
}

void DeviceStage::download(void* to, std::uint64_t bytes) {
  check(cudaMemcpy(to, state_->piece.get(), bytes, cudaMemcpyDeviceToHost), "bringing output from the GPU");
}

}  // namespace restride::io
