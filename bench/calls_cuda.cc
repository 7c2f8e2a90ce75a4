// What calls cost on a GPU: 1,000 pairs of 4 KiB by one plan (Plan::run_many) against one copy of their bytes, on a
// stream and in a graph; the host's time of a cached copy, and of a copy of a slice that moves, against that of their
// plans. In turns, the least of the turns; the outputs are compared before anything is timed.
//
//     build/dev/bin/bench_calls_cuda [--json FILE]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <restride/restride.hpp>

#include "bench/calls.h"

using namespace restride;
using namespace restride::bench;

namespace {

void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "bench_calls_cuda: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Of 50 calls, by the GPU's clock.
double on_device_ns(cudaStream_t stream, const Work& work) {
  constexpr int kCalls = 50;
  static const auto events = [] {
    std::array<cudaEvent_t, 2> made{};
    for (cudaEvent_t& e : made) must(cudaEventCreate(&e));
    return made;
  }();
  work(0);
  must(cudaEventRecord(events[0], stream));
  for (int call = 0; call < kCalls; ++call) work(call);
  must(cudaEventRecord(events[1], stream));
  must(cudaEventSynchronize(events[1]));
  float ms = 0;
  must(cudaEventElapsedTime(&ms, events[0], events[1]));
  return static_cast<double>(ms) * 1e6 / kCalls;
}

/// Of 200 calls, by the host's; the GPU has caught up before.
double on_host_ns(const Work& work) {
  constexpr int kCalls = 200;
  must(cudaDeviceSynchronize());
  const double begin = now_ns();
  for (int call = 0; call < kCalls; ++call) work(call);
  const double ns = (now_ns() - begin) / kCalls;
  must(cudaDeviceSynchronize());
  return ns;
}

cudaGraphExec_t captured(cudaStream_t stream, const Work& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  work(0);
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}

char* device_bytes(std::size_t n) {
  void* p = nullptr;
  must(cudaMalloc(&p, n));
  return static_cast<char*>(p);
}

char* on_device(const std::vector<std::uint8_t>& bytes) {
  char* p = device_bytes(bytes.size());
  must(cudaMemcpy(p, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  return p;
}

std::vector<std::uint8_t> on_host(const char* bytes, std::size_t n) {
  std::vector<std::uint8_t> back(n);
  must(cudaDeviceSynchronize());
  must(cudaMemcpy(back.data(), bytes, n, cudaMemcpyDeviceToHost));
  return back;
}

void many(std::vector<CallRow>& rows, const Options& options, cudaStream_t stream) {
  constexpr std::size_t kPairs = 1000, kBytes = 4096, kAll = kPairs * kBytes;
  std::mt19937_64 random(std::random_device{}());
  const std::vector<std::uint8_t> bytes = random_bytes(kAll);
  char *from = on_device(bytes), *to = device_bytes(kAll);
  std::vector<std::size_t> order(kPairs);
  for (std::size_t i = 0; i < kPairs; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < kPairs; ++i) {
    dst.push_back(to + order[i] * kBytes);
    src.push_back(from + i * kBytes);
  }
  const Layout piece = contiguous(DType::kF32, {1024}), all = contiguous(DType::kF32, {1024 * 1000});
  const Plan one(piece, piece, options, 16, 16), whole(all, all, options, 16, 16);
  const Work pairs = [&](int) { one.run_many(dst, src); };
  const Work copy = [&](int) { whole.run(to, from); };
  pairs(0);
  const std::vector<std::uint8_t> back = on_host(to, kAll);
  for (std::size_t i = 0; i < kPairs; ++i)
    must_be_right(std::memcmp(&back[order[i] * kBytes], &bytes[i * kBytes], kBytes) == 0, "run_many");
  const auto by_gpu = [&](const Work& work) { return on_device_ns(stream, work); };
  rows.push_back(timed("run_many of 1000 pairs of 4 KiB, on a stream", pairs, "one copy of their bytes", copy, by_gpu));
  cudaGraphExec_t of_pairs = captured(stream, pairs), of_copy = captured(stream, copy);
  rows.push_back(timed(
      "run_many of 1000 pairs of 4 KiB, in a graph", [&](int) { must(cudaGraphLaunch(of_pairs, stream)); },
      "one copy of their bytes", [&](int) { must(cudaGraphLaunch(of_copy, stream)); }, by_gpu));
}

void host_times(std::vector<CallRow>& rows, const Options& options) {
  const Layout small = contiguous(DType::kF32, {16, 16}), across = permute(small, {1, 0});
  const std::vector<std::uint8_t> bytes = random_bytes(1024);
  char *a = device_bytes(1024), *b = on_device(bytes);
  const Plan plan(small, across, options, 256, 256);
  const std::string transposed = "a cached copy of 16 x 16 f32, transposed: the host's time";
  const Work cached = [&](int) { copy({a, small}, ConstTensor{b, across}, options); };
  cached(0);
  const std::vector<std::uint8_t> back = on_host(a, 1024);
  for (std::size_t i = 0; i < 256; ++i)
    must_be_right(std::memcmp(&back[i * 4], &bytes[(i % 16 * 16 + i / 16) * 4], 4) == 0, transposed);
  rows.push_back(timed(
      transposed, cached, "its plan", [&](int) { plan.run(a, b); }, on_host_ns));
  const Layout all = contiguous(DType::kF16, {8, 4096, 64}), one = contiguous(DType::kF16, {8, 1, 64});
  char* cache = device_bytes(static_cast<std::size_t>(all.bytes()));
  std::vector<Layout> slices;
  for (std::int64_t t = 0; t < 4096; ++t) slices.push_back(slice(all, 1, t, t + 1));
  const Plan moves(slices[0], one, options, 128, 128);
  const std::string moving = "a copy of 8 x 64 f16 to a slice that moves: the host's time";
  const Work ours = [&](int t) { copy({cache, slices[static_cast<std::size_t>(t)]}, ConstTensor{b, one}, options); };
  for (int t = 0; t < 4096; ++t) ours(t);
  const std::vector<std::uint8_t> filled = on_host(cache, static_cast<std::size_t>(all.bytes()));
  for (std::size_t row = 0; row < 8 * 4096; ++row)
    must_be_right(std::memcmp(&filled[row * 128], &bytes[row / 4096 * 128], 128) == 0, moving);
  rows.push_back(timed(
      moving, ours, "its plan", [&](int t) { moves.run(cache + t * 128, b); }, on_host_ns));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = json_argument(argc, argv);
  cudaDeviceProp gpu{};
  must(cudaGetDeviceProperties(&gpu, 0));
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Options options;
  options.device = DeviceKind::kCuda;
  options.stream = stream;
  std::vector<CallRow> rows;
  many(rows, options, stream);
  host_times(rows, options);
  return report_calls(rows, "bench_calls_cuda", file, gpu.name);
}
