// What calls cost on a GPU: 1,000 pairs of 4 KiB by one plan (Plan::run_many) against one copy of their bytes, on a
// stream and in a graph; the host's time of a cached copy, and of a copy of a slice that moves, against that of their
// plans. In turns, the least of the turns; the outputs are compared before anything is timed.
//
//     build/dev/bin/bench_calls_cuda [--json FILE]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <restride/restride.hpp>

#include "tools/bench/machine.h"
#include "tools/io/json_text.h"

using namespace restride;

namespace {

using Work = std::function<void(int)>;

void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "bench_calls_cuda: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Row {
  std::string name, reference;
  double ns = 1e18, reference_ns = 1e18;
};

/// Both in turns. mean_ns(work) is the mean time of some calls.
template <class MeanNs>
Row timed(const std::string& name, const Work& ours, const std::string& reference, const Work& theirs,
          const MeanNs& mean_ns) {
  Row row{name, reference};
  for (int turn = 0; turn < 40; ++turn) {
    row.ns = std::min(row.ns, mean_ns(ours));
    row.reference_ns = std::min(row.reference_ns, mean_ns(theirs));
  }
  return row;
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

void many(std::vector<Row>& rows, const Options& options, cudaStream_t stream) {
  constexpr std::size_t kPairs = 1000, kBytes = 4096, kAll = kPairs * kBytes;
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::uint8_t> bytes(kAll), back(kAll);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  char *from = device_bytes(kAll), *to = device_bytes(kAll);
  must(cudaMemcpy(from, bytes.data(), kAll, cudaMemcpyHostToDevice));
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
  must(cudaStreamSynchronize(stream));
  must(cudaMemcpy(back.data(), to, kAll, cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < kPairs; ++i)
    if (!std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(i * kBytes),
                    bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * kBytes),
                    back.begin() + static_cast<std::ptrdiff_t>(order[i] * kBytes))) {
      std::fprintf(stderr, "bench_calls_cuda: wrong bytes in pair %zu\n", i);
      std::exit(1);
    }
  const auto on_device = [&](const Work& work) { return on_device_ns(stream, work); };
  rows.push_back(
      timed("run_many of 1000 pairs of 4 KiB, on a stream", pairs, "one copy of their bytes", copy, on_device));
  cudaGraphExec_t of_pairs = captured(stream, pairs), of_copy = captured(stream, copy);
  rows.push_back(timed(
      "run_many of 1000 pairs of 4 KiB, in a graph", [&](int) { must(cudaGraphLaunch(of_pairs, stream)); },
      "one copy of their bytes", [&](int) { must(cudaGraphLaunch(of_copy, stream)); }, on_device));
}

void host_times(std::vector<Row>& rows, const Options& options) {
  const Layout small = contiguous(DType::kF32, {16, 16}), across = permute(small, {1, 0});
  char *a = device_bytes(1024), *b = device_bytes(1024);
  const Plan plan(small, across, options, 256, 256);
  rows.push_back(timed(
      "a cached copy of 16 x 16 f32, transposed: the host's time",
      [&](int) {
        copy({a, small}, ConstTensor{b, across}, options);
      },
      "its plan", [&](int) { plan.run(a, b); }, on_host_ns));
  const Layout all = contiguous(DType::kF16, {8, 4096, 64}), one = contiguous(DType::kF16, {8, 1, 64});
  char *cache = device_bytes(static_cast<std::size_t>(all.bytes())), *token = device_bytes(1024);
  std::vector<Layout> slices;
  for (std::int64_t t = 0; t < 4096; ++t) slices.push_back(slice(all, 1, t, t + 1));
  const Plan moves(slices[0], one, options, 128, 128);
  rows.push_back(timed(
      "a copy of 8 x 64 f16 to a slice that moves: the host's time",
      [&](int t) {
        copy({cache, slices[static_cast<std::size_t>(t)]}, ConstTensor{token, one}, options);
      },
      "its plan", [&](int t) { moves.run(cache + t * 128, token); }, on_host_ns));
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp gpu{};
  must(cudaGetDeviceProperties(&gpu, 0));
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Options options;
  options.device = DeviceKind::kCuda;
  options.stream = stream;
  std::vector<Row> rows;
  many(rows, options, stream);
  host_times(rows, options);
  std::printf("%s\n%-60s %10s  %-24s %10s %7s\n", gpu.name, "", "ns", "beside", "ns", "ratio");
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  for (const Row& r : rows) {
    const double ratio = r.reference_ns / r.ns;
    std::printf("%-60s %10.0f  %-24s %10.0f %7.3f\n", r.name.c_str(), r.ns, r.reference.c_str(), r.reference_ns, ratio);
    calls.push_back({{"name", r.name},
                     {"ns", std::round(r.ns)},
                     {"beside", r.reference},
                     {"beside_ns", std::round(r.reference_ns)},
                     {"ratio", std::round(ratio * 1000) / 1000}});
  }
  if (argc != 3 || std::string(argv[1]) != "--json") return 0;
  nlohmann::json machine = bench::describe_cpu();
  machine.update(bench::describe_run());
  machine["gpu"] = gpu.name;
  std::ofstream out(argv[2]);
  out << io::json_rows(nlohmann::ordered_json{{"commit", bench::commit()},
                                              {"command", "bench_calls_cuda --json"},
                                              {"machine", machine},
                                              {"calls", calls}})
      << '\n';
  return out.good() ? 0 : 1;
}
