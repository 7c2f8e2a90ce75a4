// Devices, pointers and streams, asked of CUDA.
#include "src/cuda/runtime/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include <restride/device.hpp>
#include <restride/error.hpp>

#include "src/cuda/runtime/driver.h"
#include "src/cuda/runtime/loaded_code.h"
#include "src/cuda/runtime/scopes.h"

namespace restride {
namespace cuda {
namespace {

/// The devices of this process, counted once.
struct Devices {
  int count = 0;
  std::string reason;
};

const Devices& devices() {
  static const Devices instance = [] {
    Devices d;
    if (driver().missing != nullptr) {
      d.reason = driver().missing;
      return d;
    }
    const LastErrorGuard guard;
    int count = 0;
    const cudaError_t rc = cudaGetDeviceCount(&count);  // leaves count unwritten when it fails
    if (rc == cudaSuccess)
      d.count = count;
    else
      d.reason = fmt::format("{} ({})", cudaGetErrorString(rc), cudaGetErrorName(rc));
    if (rc == cudaSuccess && count == 0) d.reason = "CUDA counts no device; is CUDA_VISIBLE_DEVICES empty?";
    return d;
  }();
  return instance;
}

int attribute(cudaDeviceAttr which, int device) noexcept {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

constexpr int kKept = 64;  // devices that are kept apart
std::size_t slot_of(int device) noexcept { return static_cast<std::size_t>(device % kKept); }

/// What a device is, whatever is loaded on it; makes no context.
CudaMachine read_chip(int device) {
  const LastErrorGuard guard;
  CudaMachine m;
  m.cc_major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  m.cc_minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  m.sm_count = attribute(cudaDevAttrMultiProcessorCount, device);
  m.l2_bytes = attribute(cudaDevAttrL2CacheSize, device);
  m.shared_per_sm_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  m.shared_per_block_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  m.threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  const double clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  const double bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  const double peak = clock_khz * 1e3 * 2 * bus_bits / 8 / 1e9;  // two transfers a clock; bytes a nanosecond
  if (peak > 0) m.copy_bytes_per_ns = peak * kCopyShareOfPeak;
  return m;
}

/// The same, read once a device.
const CudaMachine& chip_of(int device) {
  static std::array<std::once_flag, kKept> read;
  static std::array<CudaMachine, kKept> chips;
  const std::size_t i = slot_of(device);
  std::call_once(read[i], [&] { chips[i] = read_chip(device); });
  return chips[i];
}

/// The runtime's answer, for what the driver did not say.
Place place_by_runtime(const void* pointer) noexcept {
  const LastErrorGuard guard;
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, pointer) != cudaSuccess) return {MemoryKind::kHost, -1};
  switch (a.type) {
    case cudaMemoryTypeDevice: return {MemoryKind::kDevice, a.device};
    case cudaMemoryTypeManaged: return {MemoryKind::kManaged, -1};
    case cudaMemoryTypeHost: return {MemoryKind::kPinned, -1};
    default: return {MemoryKind::kHost, -1};
  }
}

}  // namespace

Place place_of(const void* pointer) noexcept {
  if (pointer == nullptr) return {MemoryKind::kNone, -1};
  const Driver& d = driver();
  if (d.pointer_attributes == nullptr) return {MemoryKind::kHost, -1};
  CUmemorytype type{};
  unsigned managed = 0;
  int device = -1;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* data[] = {&type, &managed, &device};
  const CUresult rc = d.pointer_attributes(3, which, data, reinterpret_cast<CUdeviceptr>(pointer));
  if (rc == CUDA_ERROR_NOT_INITIALIZED || rc == CUDA_ERROR_DEINITIALIZED) return {MemoryKind::kHost, -1};
  if (rc != CUDA_SUCCESS) return place_by_runtime(pointer);
  if (managed != 0) return {MemoryKind::kManaged, -1};
  if (type == CU_MEMORYTYPE_DEVICE) return {MemoryKind::kDevice, device};
  return {type == CU_MEMORYTYPE_HOST ? MemoryKind::kPinned : MemoryKind::kHost, -1};
}

bool has_one_device() noexcept {
  static const bool has = devices().count == 1;
  return has;
}

int device_of_stream(void* stream) noexcept {
  const auto handle = static_cast<cudaStream_t>(stream);
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) return -1;
  if (has_one_device()) return 0;
  const Driver& d = driver();
  if (d.stream_device == nullptr || d.stream_is_capturing == nullptr) return -1;
  // Asking a capturing stream for its device is an error that ends the capture; a wrong one fails at the launch.
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (d.stream_is_capturing(handle, &capturing) != CUDA_SUCCESS || capturing != CU_STREAM_CAPTURE_STATUS_NONE)
    return -1;
  CUdevice device = -1;
  return d.stream_device(handle, &device) == CUDA_SUCCESS ? device : -1;
}

int current_device() noexcept {
  const LastErrorGuard guard;
  int device = -1;
  return devices().count > 0 && cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

void require_device(int device) {
  const Devices& d = devices();
  if (d.count == 0)
    throw DeviceError("no GPU: " + d.reason +
                      "; copy on the CPU, or plan for a model with Options::cuda_device = kModelDevice");
  if (device < 0 || device >= d.count)
    throw DeviceError(
        fmt::format("there is no cuda:{}; this process sees {} device{}", device, d.count, d.count == 1 ? "" : "s"));
}

CudaMachine machine_of(int device) {
  CudaMachine m = chip_of(device);
  m.bulk_copies = has_bulk_copies(device);
  return m;
}

bool has_bulk_copies(int device) noexcept {
  enum Answer : signed char { kUnknown, kNo, kYes };
  static std::array<std::atomic<Answer>, kKept> answers{};
  std::atomic<Answer>& answer = answers[slot_of(device)];
  if (const Answer known = answer.load(std::memory_order_relaxed); known != kUnknown) return known == kYes;
  bool has = chip_of(device).cc_major >= 9 && driver().tensor_map_encode != nullptr;
  if (has) {
    const LastErrorGuard guard;
    const CurrentDevice current(device);
    const int code = current.status() == cudaSuccess ? cuda::loaded_code() : 0;
    if (code == 0) return false;  // not kept: where nothing can be loaded now, it may be later
    has = code >= cuda::kBulkCode;
  }
  answer.store(has ? kYes : kNo, std::memory_order_relaxed);
  return has;
}

std::string error_text(int status) {
  const auto rc = static_cast<cudaError_t>(status);
  return fmt::format("{} ({})", cudaGetErrorString(rc), cudaGetErrorName(rc));
}

}  // namespace cuda

CudaStatus cuda_status() {
  const cuda::Devices& d = cuda::devices();
  CudaStatus status;
  status.built = true;
  status.architectures = RESTRIDE_CUDA_ARCHITECTURES;
  status.reason = d.reason;
  const cuda::LastErrorGuard guard;
  (void)cudaRuntimeGetVersion(&status.runtime_version);
  (void)cudaDriverGetVersion(&status.driver_version);
  for (int i = 0; i < d.count; ++i) {
    auto properties = std::make_unique<cudaDeviceProp>();
    if (cudaGetDeviceProperties(properties.get(), i) != cudaSuccess) continue;
    const cuda::CudaMachine& m = cuda::chip_of(i);
    status.devices.push_back({i, properties->name, m.cc_major, m.cc_minor, m.sm_count,
                              static_cast<std::int64_t>(properties->totalGlobalMem), m.l2_bytes, m.copy_bytes_per_ns});
  }
  return status;
}

}  // namespace restride
