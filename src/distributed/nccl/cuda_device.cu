// CUDA's memory, streams and events behind Device. Every call leaves the thread's current device as it was.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include <restride/error.hpp>

#include "src/cuda/runtime/link_stream.h"
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

/// So many flags a launch.
constexpr std::size_t kMostFlags = 64;
struct Flags {
  std::uint32_t* at[kMostFlags];
  unsigned count;
};

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void restride_raise(Flags flags, const volatile std::uint32_t* released) {
  if (threadIdx.x >= flags.count || *released != 0) return;
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], 1;" ::"l"(flags.at[threadIdx.x]) : "memory");
}

__global__ void restride_await(Flags flags, const volatile std::uint32_t* released, std::uint64_t most_ns) {
  if (threadIdx.x >= flags.count) return;
  std::uint32_t* flag = flags.at[threadIdx.x];
  const std::uint64_t begin = nanoseconds();
  std::uint32_t is_raised = 0;
  for (unsigned turn = 1;; ++turn) {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(is_raised) : "l"(flag) : "memory");
    if (is_raised != 0) break;
    if (turn % 128 == 0 && (*released != 0 || nanoseconds() - begin > most_ns)) return;
  }
  *flag = 0;
}

template <class Launch>
void by_parts(std::span<std::uint32_t* const> flags, Launch launch) {
  for (; !flags.empty(); flags = flags.subspan(std::min(kMostFlags, flags.size()))) {
    Flags some{};
    some.count = static_cast<unsigned>(std::min(kMostFlags, flags.size()));
    std::copy_n(flags.data(), some.count, some.at);
    launch(some);
  }
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number) : number_(number) { const Current current(number); }
  int number() const noexcept override { return number_; }

  std::uint64_t identity() override { return identity_of(number_); }
  std::string why_not_into(std::uint64_t identity) override {
    if (identity == identity_of(number_)) return "is this rank's, too";
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
  void wait_for_all() noexcept override {
    const Current current(number_);
    (void)cudaDeviceSynchronize();
  }
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
  void* make_urgent_stream() override {
    const Current current(number_);
    int least = 0, most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), number_, "cudaDeviceGetStreamPriorityRange");
    cudaStream_t out = nullptr;
    check(cudaStreamCreateWithPriority(&out, cudaStreamNonBlocking, most), number_, "cudaStreamCreateWithPriority");
    return out;
  }
  void* make_link_stream() override {
    const Current current(number_);
    cuda::LinkStream made;
    check(cuda::make_link_stream(number_, &made), number_, "cudaStreamCreateWithPriority");
    return links_.emplace(made.stream, made).first->first;
  }
  void destroy_stream(void* stream) noexcept override {
    const auto link = links_.find(stream);
    if (link == links_.end()) return (void)cudaStreamDestroy(stream_of(stream));
    cuda::destroy_link_stream(link->second);
    links_.erase(link);
  }
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
  std::uint32_t* allocate_flags(std::int64_t count) override {
    const std::int64_t bytes = count * std::int64_t{sizeof(std::uint32_t)};
    std::byte* out = allocate(bytes);
    try {
      const Current current(number_);
      void* stream = make_stream();
      check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(bytes), stream_of(stream)), number_, "cudaMemsetAsync");
      check(cudaStreamSynchronize(stream_of(stream)), number_, "cudaStreamSynchronize");
      destroy_stream(stream);
      // Loaded now: to load a kernel while another one waits for it would wait for ever.
      cudaFuncAttributes attributes{};
      check(cudaFuncGetAttributes(&attributes, restride_raise), number_, "cudaFuncGetAttributes");
      check(cudaFuncGetAttributes(&attributes, restride_await), number_, "cudaFuncGetAttributes");
    } catch (...) {
      free(out);
      throw;
    }
    return reinterpret_cast<std::uint32_t*>(out);
  }
  void raise(std::span<std::uint32_t* const> flags, const std::uint32_t* released, void* stream) override {
    const Current current(number_);
    by_parts(flags, [&](const Flags& some) {
      restride_raise<<<1, kMostFlags, 0, stream_of(stream)>>>(some, released);
      check(cudaGetLastError(), number_, "a launch");
    });
  }
  void await(std::span<std::uint32_t* const> flags, const std::uint32_t* released, std::chrono::milliseconds most,
             void* stream) override {
    const Current current(number_);
    const auto most_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(most).count());
    by_parts(flags, [&](const Flags& some) {
      restride_await<<<1, kMostFlags, 0, stream_of(stream)>>>(some, released, most_ns);
      check(cudaGetLastError(), number_, "a launch");
    });
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

  std::map<void*, cuda::LinkStream> links_;
  int number_;
};

}  // namespace

std::shared_ptr<Device> cuda_device(int number) { return std::make_shared<CudaDevice>(number); }

}  // namespace restride::distributed
