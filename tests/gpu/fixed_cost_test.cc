// What a copy costs beside moving bytes: host time on top of a launch, and device time next to an empty kernel's.
// Recorded for the result file and nothing else, for a busy machine's figures say nothing: scripts/bench_targets.py
// holds the committed ones against bench/targets.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <restride/restride.hpp>

#include "tests/gpu/device_check.h"
#include "tests/gpu/device_memory.h"

namespace restride::test {
namespace {

constexpr int kCalls = 500;
constexpr int kRounds = 9;

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Host nanoseconds of one call, the device keeping up.
double host_ns(const std::function<void()>& call, cudaStream_t stream) {
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    samples.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
                      kCalls);
    RESTRIDE_CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  return median(samples);
}

/// Device nanoseconds of one call, from replays of a graph of many.
double device_ns(const std::function<void()>& call, cudaStream_t stream) {
  call();  // planned and loaded
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kCalls; ++i) call();
  cudaGraph_t graph = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t start = nullptr, stop = nullptr;
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&start));
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&stop));
  std::vector<double> samples;
  for (int round = 0; round < kRounds + 1; ++round) {
    RESTRIDE_CHECK_CUDA(cudaEventRecord(start, stream));
    RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, stream));
    RESTRIDE_CHECK_CUDA(cudaEventRecord(stop, stream));
    RESTRIDE_CHECK_CUDA(cudaEventSynchronize(stop));
    float ms = 0;
    RESTRIDE_CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));
    if (round > 0) samples.push_back(static_cast<double>(ms) * 1e6 / kCalls);
  }
  RESTRIDE_CHECK_CUDA(cudaEventDestroy(start));
  RESTRIDE_CHECK_CUDA(cudaEventDestroy(stop));
  RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
  return median(samples);
}

struct Small {
  const char* name;
  Layout dst, src;
};

std::vector<Small> cases() {
  // The seed's copy of 26,624 elements, and a step of a key-value cache.
  const Layout cache = slice(contiguous(DType::kF16, {8, 8192, 128}), 1, 4096, 4128);
  return {
      {"seed_26624", contiguous(DType::kF32, {2048, 13}), permute(contiguous(DType::kF32, {13, 16, 128}), {2, 1, 0})},
      {"kv_cache_append", cache, permute(contiguous(DType::kF16, {32, 8, 128}), {1, 0, 2})}};
}

TEST(GpuFixedCost, OfSmallCopies) {
  Stream stream;
  Options options;
  options.reshape = true;  // the seed's shapes differ
  options.stream = static_cast<cudaStream_t>(stream);
  const auto empty = [&] { launch_empty(stream); };
  const double empty_host = host_ns(empty, stream);
  const double empty_device = device_ns(empty, stream);
  RecordProperty("empty_host_ns", std::to_string(empty_host));
  RecordProperty("empty_device_ns", std::to_string(empty_device));
  for (const Small& c : cases()) {
    DeviceBuffer dst(static_cast<std::size_t>(byte_range(c.dst).second)),
        src(static_cast<std::size_t>(byte_range(c.src).second));
    const auto call = [&] { copy(Tensor{dst.data(), c.dst}, ConstTensor{src.data(), c.src}, options); };
    call();
    const double host = host_ns(call, stream);
    const double device = device_ns(call, stream);
    std::printf("%s: host %.0f ns a copy, %.0f an empty launch; device %.0f ns a copy, %.0f an empty kernel\n", c.name,
                host, empty_host, device, empty_device);
    RecordProperty(std::string(c.name) + "_host_ns", std::to_string(host));
    RecordProperty(std::string(c.name) + "_device_ns", std::to_string(device));
  }
}

TEST(GpuFixedCost, OfPlanning) {
  Options options;
  options.reshape = true;
  options.device = DeviceKind::kCuda;
  double worst = 0;
  for (const Small& c : cases()) {
    std::vector<double> samples;
    for (int i = 0; i < 201; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const Plan plan(c.dst, c.src, options);
      samples.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    worst = std::max(worst, median(samples));
  }
  std::printf("planning: %.0f ns\n", worst);
  RecordProperty("planning_ns", std::to_string(worst));
}

}  // namespace
}  // namespace restride::test
