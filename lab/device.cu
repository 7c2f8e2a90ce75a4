#include "lab/device.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include <restride/device.hpp>
#include <restride/error.hpp>

#include "lab/pattern.cuh"

namespace restride::lab {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here; the next call must not meet it again
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T, cudaError_t (*kDestroy)(T)>
struct Destroyer {
  using pointer = T;
  void operator()(T handle) const { kDestroy(handle); }
};
using DeviceBytes = std::unique_ptr<void, Destroyer<void*, cudaFree>>;
using Stream = std::unique_ptr<CUstream_st, Destroyer<cudaStream_t, cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroyer<cudaEvent_t, cudaEventDestroy>>;
using Graph = std::unique_ptr<CUgraph_st, Destroyer<cudaGraph_t, cudaGraphDestroy>>;
using Replay = std::unique_ptr<CUgraphExec_st, Destroyer<cudaGraphExec_t, cudaGraphExecDestroy>>;

DeviceBytes allocate(std::int64_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, static_cast<std::size_t>(bytes)), "cudaMalloc");
  return DeviceBytes(p);
}
Stream make_stream() {
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(s);
}
Event make_event() {
  cudaEvent_t e = nullptr;
  check(cudaEventCreate(&e), "cudaEventCreate");
  return Event(e);
}

constexpr std::int64_t kGuardBytes = 256;  // on each side of dst; also keeps its alignment
constexpr int kPoison = 0xA5;

// A source and a guarded destination of `elements` elements.
class Buffers {
 public:
  Buffers(std::int64_t elements, int element_bytes, cudaStream_t stream)
      : dst_bytes_(elements * element_bytes),
        src_(allocate(std::max<std::int64_t>(1, dst_bytes_))),
        dst_(allocate(dst_bytes_ + 2 * kGuardBytes)) {
    fill_source(src_.get(), elements, element_bytes, stream);
  }
  const void* src() const { return src_.get(); }
  void* dst() const { return static_cast<char*>(dst_.get()) + kGuardBytes; }

  void poison(cudaStream_t stream) const {
    check(cudaMemsetAsync(dst_.get(), kPoison, static_cast<std::size_t>(dst_bytes_ + 2 * kGuardBytes), stream),
          "cudaMemsetAsync");
  }
  // Bytes around the `used` of the destination that no longer hold the poison.
  std::int64_t broken_guards(std::int64_t used) const {
    unsigned char guard[2 * kGuardBytes];
    const char* const base = static_cast<const char*>(dst_.get());
    check(cudaMemcpy(guard, base, kGuardBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(guard + kGuardBytes, base + kGuardBytes + used, kGuardBytes, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    return std::count_if(std::begin(guard), std::end(guard), [](unsigned char b) { return b != kPoison; });
  }

 private:
  std::int64_t dst_bytes_;
  DeviceBytes src_, dst_;
};

void launch(const Task& task, int element_bytes, const Buffers& on, cudaStream_t stream) {
  task.rung->launch({task.shape, element_bytes, on.src(), on.dst(), stream});
  check(cudaGetLastError(), std::string(task.rung->name).c_str());
}

std::int64_t wrong_elements(const Task& task, int element_bytes, const Buffers& on, cudaStream_t stream) {
  on.poison(stream);
  launch(task, element_bytes, on, stream);
  const DeviceBytes count = allocate(sizeof(std::uint64_t));
  check(cudaMemsetAsync(count.get(), 0, sizeof(std::uint64_t), stream), "cudaMemsetAsync");
  count_wrong(task, element_bytes, on.dst(), static_cast<unsigned long long*>(count.get()), stream);
  check(cudaGetLastError(), "count_wrong");
  check(cudaStreamSynchronize(stream), std::string(task.rung->name).c_str());
  std::uint64_t wrong = 0;
  check(cudaMemcpy(&wrong, count.get(), sizeof wrong, cudaMemcpyDeviceToHost), "cudaMemcpy");
  const std::int64_t used = task.shape.elements() * task.rung->dst_element_bytes(element_bytes);
  return static_cast<std::int64_t>(wrong) + on.broken_guards(used);
}

// One pass of a task over all pairs of buffers, ready to be run again and again.
Replay record(const Task& task, int element_bytes, std::span<const Buffers> pairs, cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (const Buffers& pair : pairs) launch(task, element_bytes, pair, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const Graph owner(graph);
  cudaGraphExec_t replay = nullptr;
  check(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
  return Replay(replay);
}

Timing summarise(std::vector<double> samples, std::int64_t wrong) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const double median = samples[n / 2];
  return {median, (samples[n * 3 / 4] - samples[n / 4]) / median, wrong};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ...", or the open module's like line.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (std::count(word.begin(), word.end(), '.') >= 1 && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "";
}

}  // namespace

Device find_device() {
  Device device;
  const CudaStatus status = cuda_status();  // what `restride info` says
  device.why_not = status.reason;
  int number = 0;
  if (status.devices.empty() || cudaGetDevice(&number) != cudaSuccess) return device;
  const int cuda = status.driver_version;
  for (const CudaDevice& found : status.devices) {
    if (found.index != number) continue;
    device.present = true;
    device.name = found.name;
    device.driver = driver_version();
    device.cuda = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
    device.processors = found.sm_count;
    device.l2_bytes = found.l2_bytes;
  }
  return device;
}

std::vector<Timing> time_tasks(std::span<const Task> tasks, int element_bytes, int reps) {
  if (tasks.empty()) return {};
  const Stream stream = make_stream();
  std::int64_t elements = 0;
  for (const Task& task : tasks) elements = std::max(elements, task.shape.elements());
  // A pair comes round again only after four L2s' worth of other bytes.
  const std::int64_t cold_bytes = 4 * std::max<std::int64_t>(find_device().l2_bytes, 16 << 20);
  const std::int64_t pair_bytes = std::max<std::int64_t>(1, 2 * elements * element_bytes);
  const std::int64_t count = std::clamp<std::int64_t>(ceil_div(cold_bytes, pair_bytes) + 1, 4, 64);
  std::vector<Buffers> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.emplace_back(elements, element_bytes, stream.get());

  std::vector<std::int64_t> wrong;
  std::vector<Replay> passes;
  for (const Task& task : tasks) {
    wrong.push_back(wrong_elements(task, element_bytes, pairs[0], stream.get()));
    passes.push_back(record(task, element_bytes, pairs, stream.get()));
    check(cudaGraphLaunch(passes.back().get(), stream.get()), "cudaGraphLaunch");  // warms up
  }
  const Event begin = make_event(), end = make_event();
  std::vector<std::vector<double>> samples(tasks.size());
  for (int rep = 0; rep < reps; ++rep)
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      check(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
      check(cudaGraphLaunch(passes[i].get(), stream.get()), "cudaGraphLaunch");
      check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
      check(cudaEventSynchronize(end.get()), std::string(tasks[i].rung->name).c_str());
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "cudaEventElapsedTime");
      samples[i].push_back(ms * 1e6 / static_cast<double>(count));
    }
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < tasks.size(); ++i) timings.push_back(summarise(std::move(samples[i]), wrong[i]));
  return timings;
}

std::int64_t check_task(const Task& task, int element_bytes) {
  const Stream stream = make_stream();
  const Buffers pair(task.shape.elements(), element_bytes, stream.get());
  return wrong_elements(task, element_bytes, pair, stream.get());
}

void launch_once(std::span<const Task> tasks, int element_bytes) {
  const Stream stream = make_stream();
  for (const Task& task : tasks) {
    const Buffers pair(task.shape.elements(), element_bytes, stream.get());
    launch(task, element_bytes, pair, stream.get());
    check(cudaStreamSynchronize(stream.get()), std::string(task.rung->name).c_str());
  }
}

}  // namespace restride::lab
