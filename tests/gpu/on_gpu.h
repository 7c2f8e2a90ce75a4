// Random exchanges on GPUs, whatever the ranks are.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/distributed/random_exchange.h"
#include "tests/gpu/device_check.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/pieces_memory.h"

namespace restride::distributed::test {

/// The GPU of a rank, made current.
inline int take_gpu(const Comm& comm) {
  int count = 0;
  RESTRIDE_CHECK_CUDA(cudaGetDeviceCount(&count));
  const int gpu = comm.rank() % count;
  RESTRIDE_CHECK_CUDA(cudaSetDevice(gpu));
  return gpu;
}

/// Runs on copies on a GPU that lie at 128 bytes or anywhere, in memory of cudaMalloc or mapped in pieces. Now and then
/// the stream is late: before it writes the canaries of dst, and before it comes to the exchange.
class OnGpu final : public Runner {
 public:
  OnGpu(const Comm& comm, std::uint64_t seed) : gpu_(take_gpu(comm)), rng_(seed) {}

  void choose(ExchangeOptions& options) override {
    options.device = DeviceKind::kCuda;
    options.cuda_device = gpu_;
    options.method = Method::kAuto;
  }

  void run(Plan& plan, std::vector<Memory>& to, std::vector<Memory>& from) override {
    cudaStream_t stream = pick(rng_, 0, 4) == 0 ? nullptr : static_cast<cudaStream_t>(stream_);
    std::vector<std::byte*> copies;
    const auto bring = [&](Memory& m) {
      const std::int64_t shift = pick(rng_, 0, 1) == 0 ? 128 - m.origin() % 128 : pick(rng_, 0, 127);
      std::byte* copy = buffer(copies.size(), m.bytes().size() + 128) + shift;
      restride::test::upload(copy, m.bytes(), stream);
      copies.push_back(copy);
      return copy + m.origin();
    };
    std::vector<void*> dst;
    std::vector<const void*> src;
    for (Memory& m : from) src.push_back(bring(m));
    be_late(stream);
    for (Memory& m : to) dst.push_back(bring(m));
    be_late(stream);
    plan.run_all(dst, src, stream);
    std::size_t i = 0;
    for (std::vector<Memory>* some : {&from, &to})
      for (Memory& m : *some) restride::test::download(m.bytes(), copies[i++], stream);
  }

 private:
  /// Large enough at once: nothing is given back that other processes have mapped.
  std::byte* buffer(std::size_t i, std::size_t bytes) {
    constexpr std::size_t kMost = 8 << 20;
    if (bytes > kMost) throw std::runtime_error("a random case of more than 8 MiB");
    if (i == buffers_.size()) {
      Buffer& made = buffers_.emplace_back();
      const std::int64_t pieces = pick(rng_, 0, 4);  // 0: of cudaMalloc
      if (pieces == 0)
        made.whole = std::make_unique<restride::test::DeviceBuffer>(kMost);
      else
        made.pieces = std::make_unique<restride::test::PiecesBuffer>(2 * kMost, static_cast<std::size_t>(pieces));
      made.data = pieces == 0 ? made.whole->data() : made.pieces->data();
      if (pieces > 1) made.data += made.pieces->piece() - static_cast<std::size_t>(pick(rng_, 0, 1024));
    }
    return buffers_[i].data;
  }
  void be_late(cudaStream_t stream) {
    if (pick(rng_, 0, 5) == 0) restride::test::launch_delay(pick(rng_, 20, 500), stream);
  }

  int gpu_;
  Rng rng_;
  restride::test::Stream stream_;
  struct Buffer {
    std::unique_ptr<restride::test::DeviceBuffer> whole;
    std::unique_ptr<restride::test::PiecesBuffer> pieces;
    std::byte* data = nullptr;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace restride::distributed::test
