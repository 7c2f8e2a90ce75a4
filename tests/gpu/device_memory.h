// Device memory and streams for the tests, with every CUDA call checked.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace restride::test {

inline void check(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define RESTRIDE_CHECK_CUDA(call) ::restride::test::check((call), #call)

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) { RESTRIDE_CHECK_CUDA(cudaMalloc(&data_, bytes)); }
  ~DeviceBuffer() { (void)cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  /// At least so many bytes; what was there before is lost when it grows.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    RESTRIDE_CHECK_CUDA(cudaFree(data_));
    data_ = nullptr, bytes_ = 0;
    RESTRIDE_CHECK_CUDA(cudaMalloc(&data_, bytes));
    bytes_ = bytes;
  }

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream() { RESTRIDE_CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT: implicit on purpose
  void synchronize() const { RESTRIDE_CHECK_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A stream held up until `release`: what was enqueued behind it cannot have run.
class HeldStream {
 public:
  HeldStream() {
    RESTRIDE_CHECK_CUDA(cudaLaunchHostFunc(
        stream_, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &released_));
  }
  ~HeldStream() { release(); }
  void release() {
    released_ = true;
    released_.notify_all();
    (void)cudaStreamSynchronize(stream_);
  }
  cudaStream_t stream() const { return stream_; }

 private:
  Stream stream_;
  std::atomic<bool> released_{false};
};

inline void upload(void* to, const std::vector<std::uint8_t>& from, cudaStream_t stream) {
  RESTRIDE_CHECK_CUDA(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream));
}
inline void download(std::vector<std::uint8_t>& to, const void* from, cudaStream_t stream) {
  RESTRIDE_CHECK_CUDA(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream));
  RESTRIDE_CHECK_CUDA(cudaStreamSynchronize(stream));
}

}  // namespace restride::test
