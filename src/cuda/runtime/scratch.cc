#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <restride/error.hpp>

#include "src/cuda/runtime/scopes.h"
#include "src/cuda/runtime/scratch.h"

namespace restride::cuda {
namespace {

using base::Scratch;
using base::ScratchSide;

constexpr std::int64_t kPiece = 16 << 20;  // bytes hashed at a time

void check(cudaError_t rc, const char* doing) {
  if (rc == cudaErrorMemoryAllocation)
    throw MemoryError(
        fmt::format("no device memory for {} while measuring; free some, or plan without measuring", doing));
  if (rc != cudaSuccess)
    throw DeviceError(fmt::format("CUDA failed at {} while measuring: {}", doing, cudaGetErrorString(rc)));
}

struct Free {
  void operator()(std::byte* p) const noexcept { (void)cudaFree(p); }
};
using Bytes = std::unique_ptr<std::byte, Free>;

Bytes allocate(const ScratchSide& side) {
  void* p = nullptr;
  check(cudaMalloc(&p, static_cast<std::size_t>(side.last - side.first + 512)), "a buffer");
  return Bytes(static_cast<std::byte*>(p));
}

struct Destroy {
  void operator()(cudaStream_t s) const noexcept { (void)cudaStreamDestroy(s); }
  void operator()(cudaEvent_t e) const noexcept { (void)cudaEventDestroy(e); }
};
using StreamHandle = std::unique_ptr<CUstream_st, Destroy>;
using EventHandle = std::unique_ptr<CUevent_st, Destroy>;

StreamHandle make_stream() {
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "making a stream");
  return StreamHandle(s);
}
EventHandle make_event() {
  cudaEvent_t e = nullptr;
  check(cudaEventCreate(&e), "making an event");
  return EventHandle(e);
}

class CudaScratch final : public Scratch {
 public:
  CudaScratch(int device, const ScratchSide& dst, const ScratchSide& src) : current_(device), dst_side_(dst) {
    check(current_.status(), "choosing the device");
    dst_ = allocate(dst);
    src_ = allocate(src);
    stream_ = make_stream();
    start_ = make_event();
    stop_ = make_event();
    dst_first_ = dst_.get() + base::shift_for(dst);
    src_data_ = src_.get() + base::shift_for(src) - src.first;
    fill(src_.get(), src.last - src.first + 512);
  }
  void* dst() const noexcept override { return dst_first_ - dst_side_.first; }
  const void* src() const noexcept override { return src_data_; }

  double time_ns(const Copy& copy, int repeats) override {
    check(cudaEventRecord(start_.get(), stream_.get()), "recording an event");
    for (int i = 0; i < repeats; ++i) check(static_cast<cudaError_t>(copy(stream_.get())), "a copy");
    check(cudaEventRecord(stop_.get(), stream_.get()), "recording an event");
    check(cudaEventSynchronize(stop_.get()), "waiting");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start_.get(), stop_.get()), "reading the clock");
    return static_cast<double>(ms) * 1e6 / repeats;
  }

  std::uint64_t fingerprint(const Copy& copy) override {
    const std::int64_t bytes = dst_side_.last - dst_side_.first;
    check(cudaMemsetAsync(dst_first_, 0xa5, static_cast<std::size_t>(bytes), stream_.get()), "clearing a buffer");
    check(static_cast<cudaError_t>(copy(stream_.get())), "a copy");
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPiece)));
    std::uint64_t hash = 0;
    for (std::int64_t at = 0; at < bytes; at += kPiece) {
      const std::int64_t n = std::min(kPiece, bytes - at);
      check(cudaMemcpyAsync(piece.data(), dst_first_ + at, static_cast<std::size_t>(n), cudaMemcpyDeviceToHost,
                            stream_.get()),
            "reading back");
      check(cudaStreamSynchronize(stream_.get()), "waiting");
      hash = base::hash_bytes(hash, piece.data(), n);
    }
    return hash;
  }

 private:
  /// Noise of one piece, over and over: a copy that is off by less than a piece is still seen.
  void fill(std::byte* to, std::int64_t bytes) {
    std::vector<std::byte> noise(static_cast<std::size_t>(std::min(bytes, kPiece + 8191)));
    base::fill_noise(noise.data(), static_cast<std::int64_t>(noise.size()));
    for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(noise.size()))
      check(cudaMemcpyAsync(to + at, noise.data(), std::min(noise.size(), static_cast<std::size_t>(bytes - at)),
                            cudaMemcpyHostToDevice, stream_.get()),
            "filling a buffer");
    check(cudaStreamSynchronize(stream_.get()), "waiting");
  }

  LastErrorGuard errors_;
  CurrentDevice current_;
  ScratchSide dst_side_;
  Bytes dst_, src_;
  StreamHandle stream_;
  EventHandle start_, stop_;
  std::byte* dst_first_ = nullptr;
  std::byte* src_data_ = nullptr;
};

}  // namespace

std::unique_ptr<Scratch> scratch(int device, const ScratchSide& dst, const ScratchSide& src) {
  return std::make_unique<CudaScratch>(device, dst, src);
}

}  // namespace restride::cuda
