// Exchanges by NCCL on one GPU, compiled twice: nccl_program_fake, nccl_program_real. Exit status: 0 all well, 77 no
// GPU and nothing tested, 1 else.
//
// `fake`: ranks are threads that share the GPU, on an NCCL of tests/distributed/fake_nccl.cc that copies from one
// rank's memory to another's; kernels, streams and events are CUDA's. `real`: NCCL itself, one rank that sends to
// itself, also captured in a graph. Two GPUs or more of one host would be ranks of `real`, one each.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "src/distributed/gpu_link.h"
#include "src/distributed/nccl/cuda_device.h"
#include "src/distributed/nccl/module.h"
#include "tests/gpu/on_gpu.h"

#ifdef RESTRIDE_FAKE_NCCL
#include "tests/distributed/fake_nccl.h"
#else
#include <nccl.h>
#endif

namespace restride::distributed {
namespace {

using restride::test::DeviceBuffer;
using restride::test::Stream;

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

/// NCCL's, in which what stays on its rank is sent, too.
class ThroughItself final : public Comm, public GpuLink {
 public:
  explicit ThroughItself(Comm& inner) : inner_(inner), link_(*inner.gpu_link()) {}
  int rank() const noexcept override { return inner_.rank(); }
  int size() const noexcept override { return inner_.size(); }
  std::string_view engine() const noexcept override { return inner_.engine(); }
  std::string unusable() const override { return inner_.unusable(); }
  bool offers(Method method) const noexcept override { return inner_.offers(method); }
  GpuLink* gpu_link() noexcept override { return this; }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    inner_.allgather(mine, all, bytes, what, deadline);
  }
  std::unique_ptr<Posted> post(std::span<const Message> r, std::int64_t tag, std::string_view what) override {
    return inner_.post(r, tag, what);
  }
  void abort(const std::string& reason) override { inner_.abort(reason); }

  Device& device() noexcept override { return link_.device(); }
  bool sends_to_itself() const noexcept override { return true; }
  void* lane() override { return link_.lane(); }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, void* stream,
                Deadline deadline) override {
    link_.exchange(sends, receives, stream, deadline);
  }
  void watch(std::uint32_t* word, std::chrono::milliseconds most) override { link_.watch(word, most); }
  void forget(std::uint32_t* word) noexcept override { link_.forget(word); }

 private:
  Comm& inner_;
  GpuLink& link_;
};

class ByMethod final : public test::Runner {
 public:
  ByMethod(const Comm& comm, Method method)
      : method_(method), inner_(comm, static_cast<std::uint64_t>(comm.size() * 100 + comm.rank())) {}
  void choose(ExchangeOptions& options) override {
    const std::int64_t bound = options.most_workspace_bytes;
    inner_.choose(options);
    options.method = method_;
    if (bound > 0) options.most_workspace_bytes = bound + 4 * 16 * 256;
  }
  void run(Plan& plan, std::vector<test::Memory>& to, std::vector<test::Memory>& from) override {
    inner_.run(plan, to, from);
  }

 private:
  Method method_;
  test::OnGpu inner_;
};

std::string random_cases(Comm& comm, Method method, int cases) {
  ByMethod runner(comm, method);
  for (int i = 0; i < cases; ++i)
    if (std::string wrong =
            test::run_case(comm, static_cast<std::uint64_t>(comm.size() * 1'000'000 + i), {Method::kMessages}, runner);
        !wrong.empty())
      return wrong;
  return {};
}

ExchangeOptions options_of(bool check_runs, Method method = Method::kMessages) {
  ExchangeOptions options;
  options.method = method;
  options.device = DeviceKind::kCuda;
  options.check_runs = check_runs;
  options.deadline = std::chrono::seconds(30);
  return options;
}

/// A permuted exchange of `n` by `n` floats, timed by the stream: milliseconds, the best of some.
std::string timed(Comm& comm, std::int64_t n, bool check_runs, Method method, double* ms) {
  const int ranks = comm.size();
  std::ostringstream shape, over;
  shape << '(' << n << ',' << n << ')';
  over << " over (" << ranks << ')';
  const std::string rows = shape.str() + " as (block[0],*)" + over.str(),
                    columns = shape.str() + " as (*,block[0])" + over.str() + " order (1,0)";
  Plan p =
      plan(side(rows.c_str(), DType::kF32), side(columns.c_str(), DType::kF32), comm, options_of(check_runs, method));
  const std::int64_t bytes = n * n / ranks * 4;
  DeviceBuffer src(static_cast<std::size_t>(bytes)), dst(static_cast<std::size_t>(bytes));
  Stream stream;
  cudaEvent_t begin = nullptr, end = nullptr;
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&begin));
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&end));
  *ms = 1e30;
  for (int i = 0; i < 8; ++i) {
    RESTRIDE_CHECK_CUDA(cudaEventRecord(begin, stream));
    p.run(dst.data(), src.data(), stream);
    RESTRIDE_CHECK_CUDA(cudaEventRecord(end, stream));
    RESTRIDE_CHECK_CUDA(cudaEventSynchronize(end));
    float took = 0;
    RESTRIDE_CHECK_CUDA(cudaEventElapsedTime(&took, begin, end));
    if (i > 0) *ms = std::min(*ms, static_cast<double>(took));
  }
  if (comm.rank() == 0) {
    std::printf("%s", p.explain().c_str());
    std::printf("time       %ld x %ld f32, %s: %.3f ms of the stream, %.1f GB/s of all the tensor's bytes\n",
                static_cast<long>(n), static_cast<long>(n), check_runs ? "checked" : "unchecked", *ms,
                static_cast<double>(bytes) * ranks / *ms / 1e6);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return {};
}

/// Small matrices of 6 bytes, which packed/batches takes: by the library alone, with nothing else on the GPU.
std::string small_matrices() {
  restride::Options options;
  options.device = DeviceKind::kCuda;
  const Layout src = parse_layout("b6 (4,2,31):(62,1,2)"), dst = parse_layout("b6 (4,2,31):(62,31,1)");
  const restride::Plan p(dst, src, options, 128, 128);
  DeviceBuffer from(4096), to(4096);
  Stream stream;
  options.stream = stream;
  const int status = p.run(to.data(), from.data(), options);
  stream.synchronize();
  return status == 0 ? "" : cudaGetErrorString(static_cast<cudaError_t>(status)) + ("\n" + p.explain());
}

int failures = 0;
void report(const char* what, const std::string& wrong) {
  std::printf("%-60s %s\n", what, wrong.empty() ? "ok" : ("FAILED: " + wrong).c_str());
  std::fflush(stdout);
  failures += wrong.empty() ? 0 : 1;
}

#ifdef RESTRIDE_FAKE_NCCL

std::string on_ranks(int ranks, const std::function<std::string(Comm&)>& body) {
  std::vector<std::shared_ptr<Device>> devices(static_cast<std::size_t>(ranks), cuda_device(0));
  const std::vector<void*> users = test::make_fake_nccl(devices);
  std::vector<std::string> out(users.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < users.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        RESTRIDE_CHECK_CUDA(cudaSetDevice(0));
        const std::unique_ptr<Comm> comm = nccl(users[r], std::chrono::seconds(30));
        out[r] = body(*comm);
      } catch (const std::exception& e) {
        out[r] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  std::string wrong;
  for (std::size_t r = 0; r < out.size(); ++r)
    if (!out[r].empty()) wrong += "rank " + std::to_string(r) + ": " + out[r] + "\n";
  return wrong;
}

std::string late_rank(Comm& comm) {
  ExchangeOptions options = options_of(true);
  options.deadline = std::chrono::milliseconds(500);
  if (comm.rank() == 1) return {};
  try {
    plan(side("(8) as (block[0]) over (3)"), side("(8) as (cyclic[0]) over (3)"), comm, options);
  } catch (const DeadlineError& e) {
    return std::strncmp(e.what(), "rank 1 did not come", 19) == 0 ? "" : e.what();
  }
  return "no error";
}

void all_tests() {
  report("small matrices of 6 bytes by a plan alone", small_matrices());
  for (const Method method : {Method::kMessages, Method::kDirect, Method::kAuto})
    for (int ranks : {1, 2, 3, 5}) {
      const std::string what = "random exchanges, fake NCCL, " + std::string(name(method)) + ", ranks: ";
      report((what + std::to_string(ranks)).c_str(),
             on_ranks(ranks, [&](Comm& comm) { return random_cases(comm, method, 40); }));
    }
  report("a late rank is named", on_ranks(3, late_rank));
  for (const Method method : {Method::kMessages, Method::kDirect})
    for (bool check : {true, false})
      report("transpose of 8192^2 f32 over 4 ranks", on_ranks(4, [&](Comm& comm) {
               double ms = 0;
               return timed(comm, 8192, check, method, &ms);
             }));
}

#else

void require(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code));
}

std::string captured(Comm& comm) {
  constexpr std::size_t kBytes = 96 * 96 * 4;
  ExchangeOptions options = options_of(true);
  options.most_workspace_bytes = 65536;
  Plan p = plan(side("(96,96) as (block[0],*) over (1)"), side("(96,96) as (*,block[0]) over (1) order (1,0)"), comm,
                options);
  DeviceBuffer src(kBytes), dst(kBytes);
  Stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  p.run(dst.data(), src.data(), stream);
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  std::vector<std::uint8_t> from(kBytes), got(kBytes);
  for (int i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < kBytes; ++k)
      from[k] = static_cast<std::uint8_t>(k / 4 * 7 + k % 4 * 31 + static_cast<std::size_t>(i));
    restride::test::upload(src.data(), from, stream);
    RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, stream));
    restride::test::download(got, dst.data(), stream);
    for (std::size_t a = 0; a < 96; ++a)
      for (std::size_t b = 0; b < 96; ++b)
        if (std::memcmp(&got[(b * 96 + a) * 4], &from[(a * 96 + b) * 4], 4) != 0) return "replay " + std::to_string(i);
    if (p.status() != RunStatus::kIdle) return "status";
  }
  RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
  p.run(dst.data(), src.data(), stream);  // and without a graph again
  stream.synchronize();
  return {};
}

void all_tests() {
  report("small matrices of 6 bytes by a plan alone", small_matrices());
  ncclComm_t user = nullptr;
  const int gpu = 0;
  int version = 0;
  require(ncclGetVersion(&version), "ncclGetVersion");
  std::printf("NCCL %d\n", version);
  RESTRIDE_CHECK_CUDA(cudaSetDevice(gpu));
  require(ncclCommInitAll(&user, 1, &gpu), "ncclCommInitAll");
  const auto tried = [&](const char* what, const std::function<std::string(Comm&)>& body) {
    try {
      const std::unique_ptr<Comm> comm = nccl(user, std::chrono::seconds(60));
      ThroughItself through(*comm);
      report(what, body(through));
    } catch (const std::exception& e) {
      report(what, e.what());
    }
  };
  tried("staged, random exchanges, NCCL, one rank sends to itself",
        [](Comm& comm) { return random_cases(comm, Method::kMessages, 200); });
  tried("captured in a graph and replayed", captured);
  for (bool check : {true, false})
    tried("staged transpose of 16384^2 f32, through NCCL to itself", [&](Comm& comm) {
      double ms = 0;
      return timed(comm, 16384, check, Method::kMessages, &ms);
    });
  require(ncclCommDestroy(user), "ncclCommDestroy");
}

#endif

}  // namespace
}  // namespace restride::distributed

namespace {

/// Multicast is off in all that is started here: shared and virtual hosts may not survive it.
bool multicast_is_off() {
  const auto is = [](const char* name, const char* value) {
    const char* set = std::getenv(name);
    return set != nullptr && std::strcmp(set, value) == 0;
  };
  return is("NCCL_NVLS_ENABLE", "0") && is("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1") && is("NVSHMEM_DISABLE_NVLS", "1");
}

}  // namespace

int main() {
  if (!multicast_is_off()) {
    std::printf("set NCCL_NVLS_ENABLE=0, TORCH_SYMM_MEM_DISABLE_MULTICAST=1 and NVSHMEM_DISABLE_NVLS=1 first\n");
    return 1;
  }
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("nccl_program SKIPPED, nothing was tested: no GPU\n");
    return 77;
  }
  try {
    restride::distributed::all_tests();
  } catch (const std::exception& e) {
    restride::distributed::report("nccl_program", e.what());
  }
  return restride::distributed::failures == 0 ? 0 : 1;
}
