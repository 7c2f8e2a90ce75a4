#include "tools/bench/cuda_device.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <restride/error.hpp>

#include "tools/bench/check.h"
#include "tools/bench/machine.h"

namespace restride::bench {
namespace {

constexpr std::int64_t kPitchBytes = 4096;

}  // namespace

void require_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string what =
      fmt::format("{} failed: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
  if (status == cudaErrorMemoryAllocation) throw MemoryError(what);
  throw DeviceError(what);
}

CudaDevice::CudaDevice() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw DeviceError(fmt::format("no CUDA device can be used ({}); --device cpu runs without one",
                                  status == cudaSuccess ? "none found" : cudaGetErrorString(status)));
  int device = 0;
  require_cuda(cudaGetDevice(&device), "cudaGetDevice");
  require_cuda(cudaGetDeviceProperties(&properties_, device), "cudaGetDeviceProperties");
  require_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  require_cuda(cudaEventCreate(&start_), "cudaEventCreate");
  require_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
}

CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(stream_);
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
  cudaStreamDestroy(stream_);
  cudaFree(src_.data);
  cudaFree(dst_.data);
}

nlohmann::json CudaDevice::describe() const {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); };
  nlohmann::json out = describe_cpu();
  out["gpu"] = properties_.name;
  out["compute_capability"] = fmt::format("{}.{}", properties_.major, properties_.minor);
  out["multiprocessors"] = properties_.multiProcessorCount;
  out["gpu_memory_bytes"] = static_cast<std::int64_t>(properties_.totalGlobalMem);
  out["l2_bytes"] = properties_.l2CacheSize;
  out["cuda_driver"] = version(driver);
  out["cuda_runtime"] = version(runtime);
  return out;
}

Options CudaDevice::options() const {
  Options out;
  out.device = DeviceKind::kCuda;
  out.threads = 1;
  out.stream = stream_;
  return out;
}

void CudaDevice::grow(Allocation& memory, std::int64_t bytes) {
  if (bytes <= memory.bytes) return;
  cudaFree(memory.data);
  memory = {};
  void* data = nullptr;
  require_cuda(cudaMalloc(&data, static_cast<std::size_t>(bytes)), "cudaMalloc");
  memory = {static_cast<std::byte*>(data), bytes};
}

void CudaDevice::reserve(std::int64_t side_bytes, int slots) {
  side_bytes_ = side_bytes;
  slots_ = slots;
  pitch_bytes_ = (side_bytes + 2 * kGuardBytes + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
  finish();
  grow(src_, pitch_bytes_ * slots);
  grow(dst_, pitch_bytes_ * slots);
  host_src_.reserve(side_bytes);
  host_dst_.reserve(side_bytes + 2 * kGuardBytes);
}

Slot CudaDevice::slot(int index) {
  const std::int64_t at = (index % slots_) * pitch_bytes_ + kGuardBytes;
  return {src_.data + at, dst_.data + at};
}

std::span<std::byte> CudaDevice::host_source() { return {host_src_.data(), static_cast<std::size_t>(side_bytes_)}; }

void CudaDevice::publish_source() {
  const auto bytes = static_cast<std::size_t>(side_bytes_);
  require_cuda(cudaMemcpyAsync(slot(0).src, host_src_.data(), bytes, cudaMemcpyHostToDevice, stream_),
               "cudaMemcpyAsync");
  for (int s = 1; s < slots_; ++s)
    require_cuda(cudaMemcpyAsync(slot(s).src, slot(0).src, bytes, cudaMemcpyDeviceToDevice, stream_),
                 "cudaMemcpyAsync");
  finish();
}

void CudaDevice::poison_destination() {
  require_cuda(cudaMemsetAsync(slot(0).dst - kGuardBytes, static_cast<int>(kPoison),
                               static_cast<std::size_t>(side_bytes_ + 2 * kGuardBytes), stream_),
               "cudaMemsetAsync");
}

std::span<std::byte> CudaDevice::fetch_destination() {
  const auto bytes = static_cast<std::size_t>(side_bytes_ + 2 * kGuardBytes);
  require_cuda(cudaMemcpyAsync(host_dst_.data(), slot(0).dst - kGuardBytes, bytes, cudaMemcpyDeviceToHost, stream_),
               "cudaMemcpyAsync");
  finish();
  return {host_dst_.data(), bytes};
}

void CudaDevice::finish() {
  require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  require_cuda(cudaGetLastError(), "a kernel");
}

double CudaDevice::time_ns(const Contender& contender, int first_slot, int calls) {
  require_cuda(cudaEventRecord(start_, stream_), "cudaEventRecord");
  for (int i = 0; i < calls; ++i) contender.run(slot(first_slot + i));
  require_cuda(cudaEventRecord(stop_, stream_), "cudaEventRecord");
  require_cuda(cudaEventSynchronize(stop_), "cudaEventSynchronize");
  float milliseconds = 0;
  require_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e6 / calls;
}

std::vector<Contender> CudaDevice::ceilings(std::int64_t read_bytes, std::int64_t written_bytes) {
  return {{"cudaMemcpyAsync", [this, bytes = half_of(read_bytes, written_bytes)](const Slot& slot) {
             cudaMemcpyAsync(slot.dst, slot.src, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream_);
           }}};
}

std::vector<Peer> CudaDevice::peers(const Case& c) { return cuda_peers(c, stream_); }
std::vector<std::string> CudaDevice::peer_names() const { return cuda_peer_names(); }

Contender CudaDevice::nothing() {
  return {"empty kernel", [this](const Slot&) { launch_empty(stream_); }};
}

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace restride::bench
