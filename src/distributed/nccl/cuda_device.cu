// CUDA's memory, streams and events behind Device. Every call leaves the thread's current device as it was.
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include <restride/error.hpp>

#include "src/distributed/nccl/cuda_device.h"

namespace restride::distributed {
namespace {

void check(cudaError_t code, int device, const char* call) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();
  throw DeviceError("cuda:" + std::to_string(device) + " failed at " + call + ": " + cudaGetErrorString(code));
}

class Current {
 public:
  explicit Current(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ != device) check(cudaSetDevice(device), device, "cudaSetDevice");
    changed_ = before_ != device;
  }
  ~Current() {
    if (changed_ && before_ >= 0) (void)cudaSetDevice(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = -1;
  bool changed_ = false;
};

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number) : number_(number) { const Current current(number); }
  int number() const noexcept override { return number_; }

  std::uint64_t identity() override { return identity_of(number_); }
  std::string why_not_into(std::uint64_t identity) override {
    if (identity == identity_of(number_)) return {};
    int count = 0, reaches = 0, nvlink = 0;
    check(cudaGetDeviceCount(&count), number_, "cudaGetDeviceCount");
    for (int peer = 0; peer < count; ++peer) {
      if (peer == number_ || identity_of(peer) != identity) continue;
      check(cudaDeviceCanAccessPeer(&reaches, number_, peer), number_, "cudaDeviceCanAccessPeer");
      if (reaches == 0) return "is not reached from cuda:" + std::to_string(number_);
      // Atomics go by NVLink alone; by PCIe stores are many times slower than copies.
      check(cudaDeviceGetP2PAttribute(&nvlink, cudaDevP2PAttrNativeAtomicSupported, number_, peer), number_,
            "cudaDeviceGetP2PAttribute");
      return nvlink != 0 ? "" : "is reached without NVLink";
    }
    return "is not seen by this process (CUDA_VISIBLE_DEVICES)";
  }

  std::byte* allocate(std::int64_t bytes) override {
    const Current current(number_);
    void* out = nullptr;
    check(cudaMalloc(&out, static_cast<std::size_t>(bytes)), number_, "cudaMalloc");
    return static_cast<std::byte*>(out);
  }
  void free(std::byte* memory) noexcept override { (void)cudaFree(memory); }
  std::byte* allocate_shared(std::int64_t bytes) override {
    const Current current(number_);
    void* out = nullptr;
    check(cudaHostAlloc(&out, static_cast<std::size_t>(bytes), cudaHostAllocPortable), number_, "cudaHostAlloc");
    std::memset(out, 0, static_cast<std::size_t>(bytes));
    return static_cast<std::byte*>(out);
  }
  void free_shared(std::byte* memory) noexcept override { (void)cudaFreeHost(memory); }

  void* make_stream() override {
    const Current current(number_);
    cudaStream_t out = nullptr;
    check(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking), number_, "cudaStreamCreate");
    return out;
  }
  void destroy_stream(void* stream) noexcept override { (void)cudaStreamDestroy(stream_of(stream)); }
  void* make_event() override {
    const Current current(number_);
    cudaEvent_t out = nullptr;
    check(cudaEventCreateWithFlags(&out, cudaEventDisableTiming), number_, "cudaEventCreate");
    return out;
  }
  void destroy_event(void* event) noexcept override { (void)cudaEventDestroy(event_of(event)); }
  void record(void* event, void* stream) override {
    const Current current(number_);
    check(cudaEventRecord(event_of(event), stream_of(stream)), number_, "cudaEventRecord");
  }
  void wait(void* event, void* stream) override {
    const Current current(number_);
    check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), number_, "cudaStreamWaitEvent");
  }
  bool is_finished(void* event) override {
    const cudaError_t code = cudaEventQuery(event_of(event));
    if (code == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(code, number_, "work that was enqueued before");
    return true;
  }

  void copy(void* dst, const void* src, std::int64_t bytes, void* stream) override {
    const Current current(number_);
    check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_of(stream)), number_,
          "cudaMemcpyAsync");
  }
  void set_word(std::uint32_t* word, unsigned char byte, void* stream) override {
    const Current current(number_);
    check(cudaMemsetAsync(word, byte, sizeof *word, stream_of(stream)), number_, "cudaMemsetAsync");
  }
  void call(std::function<void()>, void*) override {
    throw InternalError("a GPU was to call a function of the host; report it, please");
  }

  bool is_capturing(void* stream) override {
    const Current current(number_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_of(stream), &status), number_, "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

 protected:
  int set_mode(int mode) noexcept override {
    static_assert(kRelaxed == int{cudaStreamCaptureModeRelaxed});
    auto exchanged = static_cast<cudaStreamCaptureMode>(mode);
    (void)cudaThreadExchangeStreamCaptureMode(&exchanged);
    return static_cast<int>(exchanged);
  }

 private:
  static std::uint64_t identity_of(int device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), device, "cudaGetDeviceProperties");
    std::uint64_t halves[2] = {};
    static_assert(sizeof halves == sizeof properties.uuid);
    std::memcpy(halves, &properties.uuid, sizeof halves);
    return halves[0] ^ (halves[1] * 0x9e3779b97f4a7c15);
  }

  int number_;
};

}  // namespace

std::shared_ptr<Device> cuda_device(int number) { return std::make_shared<CudaDevice>(number); }

}  // namespace restride::distributed
