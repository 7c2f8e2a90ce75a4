// Exchanges by NCCL on GPUs, compiled twice: nccl_program_fake, nccl_program_real. Exit status: 0 all well, 77 no GPU
// and nothing tested, 1 else.
//
// `fake`: ranks are threads that share one GPU, on an NCCL of tests/distributed/fake_nccl.cc that copies from one
// rank's memory to another's; kernels, streams and events are CUDA's. `real`: NCCL itself, one rank that sends to
// itself; and on all GPUs of the host, a thread and a GPU a rank, staged and fused, captured in graphs, by two
// communicators at once. With one GPU it says that this was not run.
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "src/distributed/gpu_link.h"
#include "src/distributed/nccl/cuda_device.h"
#include "src/distributed/nccl/module.h"
#include "tests/distributed/multicast.h"
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
  void* store_lane() override { return link_.store_lane(); }
  void* lane() override { return link_.lane(); }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, void* stream,
                Deadline deadline) override {
    link_.exchange(sends, receives, stream, deadline);
  }
  void watch(RunWord* word, std::chrono::milliseconds most) override { link_.watch(word, most); }
  void forget(RunWord* word) noexcept override { link_.forget(word); }

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

/// Small matrices of 6 bytes: by the library alone, with nothing else on the GPU.
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

std::string shared_gpu(Comm& comm) {
  const Side rows = side("(64,64) as (block[0],*) over (2)"), columns = side("(64,64) as (*,block[0]) over (2)");
  if (plan(rows, columns, comm, options_of(true, Method::kAuto)).method() != Method::kMessages)
    return "kAuto is direct";
  try {
    plan(rows, columns, comm, options_of(true, Method::kDirect));
  } catch (const UnsupportedError& e) {
    return std::strncmp(e.what(), "ranks 0 and 1 share a GPU", 25) == 0 ? "" : e.what();
  }
  return "no error";
}

void all_tests() {
  report("small matrices of 6 bytes by a plan alone", small_matrices());
  for (const Method method : {Method::kMessages, Method::kDirect, Method::kAuto})
    for (int ranks : {1, 2, 3, 5}) {
      if (method == Method::kDirect && ranks > 1) continue;  // ranks that share a GPU are refused
      const std::string what = "random exchanges, fake NCCL, " + std::string(name(method)) + ", ranks: ";
      report((what + std::to_string(ranks)).c_str(),
             on_ranks(ranks, [&](Comm& comm) { return random_cases(comm, method, 40); }));
    }
  report("a late rank is named", on_ranks(3, late_rank));
  report("ranks that share a GPU do not wait for each other's kernels", on_ranks(2, shared_gpu));
  for (bool check : {true, false})
    report("transpose of 8192^2 f32 over 4 ranks", on_ranks(4, [&](Comm& comm) {
             double ms = 0;
             return timed(comm, 8192, check, Method::kMessages, &ms);
           }));
}

#else

void require(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code));
}

/// A square of numbers whose rows lie over the ranks and whose columns are wanted, in the other order in memory.
class Square {
 public:
  explicit Square(const Comm& comm, const char* of)
      : rank_(comm.rank()), over_(" over (" + std::to_string(comm.size()) + ")"), of_(of) {
    for (const Distribution& d : {rows(), columns()}) {
      const std::vector<std::int64_t> shape = local_shape(d, rank_);
      bytes_.push_back(static_cast<std::size_t>(4 * shape[0] * shape[1]));
      buffers_.push_back(std::make_unique<DeviceBuffer>(bytes_.back() + 4));
    }
  }
  Distribution rows() const { return parse_distribution(of_ + " as (block[0],*)" + over_); }
  Distribution columns() const { return parse_distribution(of_ + " as (*,block[0])" + over_ + " order (1,0)"); }
  Plan plan_on(Comm& comm, const ExchangeOptions& options) const {
    return plan({rows(), DType::kI32, {}}, {columns(), DType::kI32, {}}, comm, options);
  }
  void* src() const { return buffers_[0]->data(); }
  void* dst() const { return buffers_[1]->data(); }
  /// Brings new numbers to src, and nothing to dst.
  void bring(std::int32_t salt, cudaStream_t stream) {
    from_ = numbers(rows(), false, salt);
    restride::test::upload(src(), from_, stream);
    RESTRIDE_CHECK_CUDA(cudaMemsetAsync(dst(), 0x5a, bytes_[1], stream));
  }
  bool is_there(std::int32_t salt, cudaStream_t stream) const {
    std::vector<std::uint8_t> got(bytes_[1]);
    restride::test::download(got, dst(), stream);
    return got == numbers(columns(), true, salt);
  }

 private:
  std::vector<std::uint8_t> numbers(const Distribution& d, bool columns_first, std::int32_t salt) const {
    const std::vector<std::int64_t> shape = local_shape(d, rank_);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(4 * shape[0] * shape[1]));
    for (std::int64_t i = 0; i < shape[0]; ++i)
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        const std::int64_t at = columns_first ? j * shape[0] + i : i * shape[1] + j;
        const auto index =
            static_cast<std::int32_t>(global_index(d, rank_, 0, 0, i) * d.shape[1] + global_index(d, rank_, 0, 1, j));
        const std::int32_t number = index * 7 + salt;
        std::memcpy(out.data() + 4 * at, &number, 4);
      }
    return out;
  }

  int rank_;
  std::string over_, of_;
  std::vector<std::size_t> bytes_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<std::uint8_t> from_;
};

/// A run of a plan, captured on a stream.
class CapturedRun {
 public:
  CapturedRun(Plan& p, const Square& square, cudaStream_t stream) : stream_(stream) {
    RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    p.run(square.dst(), square.src(), stream);
    RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph_));
    RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;
  ~CapturedRun() {
    (void)cudaGraphExecDestroy(exec_);
    (void)cudaGraphDestroy(graph_);
  }
  void replay() { RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

std::string captured(Comm& comm, Method method) {
  Square square(comm, "(96,97)");
  ExchangeOptions options = options_of(true, method);
  if (method == Method::kMessages) options.most_workspace_bytes = 65536;
  Plan p = square.plan_on(comm, options);
  Stream stream;
  CapturedRun run(p, square, stream);
  for (int i = 0; i < 5; ++i) {
    square.bring(i, stream);
    run.replay();
    if (!square.is_there(i, stream)) return "replay " + std::to_string(i);
    if (p.status() != RunStatus::kIdle) return "status";
  }
  square.bring(9, stream);
  p.run(square.dst(), square.src(), stream);  // and without a graph again
  return square.is_there(9, stream) ? "" : "after the graph";
}

/// Plans of two communicators, on a stream each, enqueued before the other's is done.
std::string two_at_once(const std::vector<std::unique_ptr<Comm>>& comms) {
  Square a(*comms[0], "(1024,1031)"), b(*comms[1], "(517,2048)");
  Plan of_a = a.plan_on(*comms[0], options_of(true, Method::kMessages)),
       of_b = b.plan_on(*comms[1], options_of(true, Method::kAuto));
  Stream first, second;
  for (int i = 0; i < 10; ++i) {
    a.bring(i, first);
    b.bring(-i, second);
    of_a.run(a.dst(), a.src(), first);
    of_b.run(b.dst(), b.src(), second);
    if (!a.is_there(i, first)) return "the first communicator, run " + std::to_string(i);
    if (!b.is_there(-i, second)) return "the second communicator, run " + std::to_string(i);
  }
  return {};
}

std::string late_rank(Comm& comm) {
  Square square(comm, "(64,64)");
  ExchangeOptions options = options_of(true);
  options.deadline = std::chrono::seconds(2);
  if (comm.rank() == 1) return {};
  try {
    square.plan_on(comm, options);
  } catch (const DeadlineError& e) {
    return std::strncmp(e.what(), "rank 1 did not come", 19) == 0 ? "" : e.what();
  }
  return "no error";
}

/// One rank replays a captured run in which the others do not take part: its stream ends at the deadline.
std::string replayed_alone(Comm& comm) {
  Square square(comm, "(96,97)");
  ExchangeOptions options = options_of(true, Method::kDirect);
  options.deadline = std::chrono::seconds(2);
  Plan p = square.plan_on(comm, options);
  Stream stream;
  CapturedRun run(p, square, stream);
  std::string wrong;
  if (comm.rank() == 0) {
    run.replay();
    stream.synchronize();
    try {
      p.status();
      wrong = "no error";
    } catch (const DeadlineError& e) {
      if (std::string(e.what()).find("a run was not done before the deadline") == std::string::npos) wrong = e.what();
    }
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(4));  // its memory stays until the other is done
  }
  return wrong;
}

/// Rank 1 gives up while its stream is late for a run.
std::string given_up(Comm& comm) {
  Square square(comm, "(96,97)");
  Plan p = square.plan_on(comm, options_of(true, Method::kDirect));
  Stream stream;
  if (comm.rank() == 1) restride::test::launch_delay(500'000, stream);
  p.run(square.dst(), square.src(), stream);
  if (comm.rank() == 1) comm.abort("rank 1 has no more power");
  stream.synchronize();
  std::string wrong = "no error";
  try {
    p.status();
  } catch (const DeadlineError& e) {
    wrong = std::string(e.what()).find("rank 1 has no more power") == std::string::npos ? e.what() : "";
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the memory stays until all streams have ended
  return wrong;
}

/// A thread and a GPU for each rank; `body` gets communicators of its own, each of one of NCCL's.
std::string on_gpus(int ranks, std::size_t communicators,
                    const std::function<std::string(const std::vector<std::unique_ptr<Comm>>&)>& body) {
  std::vector<std::vector<ncclComm_t>> users(communicators, std::vector<ncclComm_t>(static_cast<std::size_t>(ranks)));
  for (std::vector<ncclComm_t>& of_one : users)
    require(ncclCommInitAll(of_one.data(), ranks, nullptr), "ncclCommInitAll");
  std::vector<std::string> out(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < out.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        RESTRIDE_CHECK_CUDA(cudaSetDevice(static_cast<int>(r)));
        std::vector<std::unique_ptr<Comm>> comms;
        for (const std::vector<ncclComm_t>& of_one : users) comms.push_back(nccl(of_one[r], std::chrono::seconds(60)));
        out[r] = body(comms);
      } catch (const std::exception& e) {
        out[r] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::vector<ncclComm_t>& of_one : users)
    for (ncclComm_t user : of_one) require(ncclCommDestroy(user), "ncclCommDestroy");
  std::string wrong;
  for (std::size_t r = 0; r < out.size(); ++r)
    if (!out[r].empty()) wrong += "rank " + std::to_string(r) + ": " + out[r] + "\n";
  return wrong;
}

/// Whether all GPUs reach each other's memory.
bool all_reach_all(int gpus) {
  for (int a = 0; a < gpus; ++a)
    for (int b = 0; b < gpus; ++b) {
      int reaches = 1;
      if (a != b) RESTRIDE_CHECK_CUDA(cudaDeviceCanAccessPeer(&reaches, a, b));
      if (reaches == 0) return false;
    }
  return true;
}

void on_all_gpus(int gpus) {
  std::vector<Method> methods = {Method::kMessages, Method::kAuto};
  if (all_reach_all(gpus))
    methods.push_back(Method::kDirect);
  else
    std::printf("fused SKIPPED, it was not run: GPUs do not reach each other's memory\n");
  std::vector<int> numbers = {2};
  if (gpus > 2) numbers.push_back(gpus);
  for (const int ranks : numbers) {
    const std::string on = ", " + std::to_string(ranks) + " GPUs";
    for (const Method method : methods) {
      const std::string with = ", " + std::string(name(method)) + on;
      report(("random exchanges" + with).c_str(),
             on_gpus(ranks, 1, [&](const auto& comms) { return random_cases(*comms[0], method, 100); }));
      report(("captured in a graph and replayed" + with).c_str(),
             on_gpus(ranks, 1, [&](const auto& comms) { return captured(*comms[0], method); }));
      for (const bool check : {true, false})
        report(("transpose of 16384^2 f32" + with).c_str(), on_gpus(ranks, 1, [&](const auto& comms) {
                 double ms = 0;
                 return timed(*comms[0], 16384, check, method, &ms);
               }));
    }
    report(("two communicators at once" + on).c_str(), on_gpus(ranks, 2, two_at_once));
    report(("a late rank is named" + on).c_str(),
           on_gpus(ranks, 1, [](const auto& comms) { return late_rank(*comms[0]); }));
    if (methods.back() != Method::kDirect) continue;
    report(("a replay of one rank alone ends" + on).c_str(),
           on_gpus(ranks, 1, [](const auto& comms) { return replayed_alone(*comms[0]); }));
    report(("a rank that gives up in a run is named" + on).c_str(),
           on_gpus(ranks, 1, [](const auto& comms) { return given_up(*comms[0]); }));
  }
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
  tried("captured in a graph and replayed", [](Comm& comm) { return captured(comm, Method::kMessages); });
  for (bool check : {true, false})
    tried("staged transpose of 16384^2 f32, through NCCL to itself", [&](Comm& comm) {
      double ms = 0;
      return timed(comm, 16384, check, Method::kMessages, &ms);
    });
  require(ncclCommDestroy(user), "ncclCommDestroy");
  int gpus = 0;
  RESTRIDE_CHECK_CUDA(cudaGetDeviceCount(&gpus));
  if (gpus > 1)
    on_all_gpus(gpus);
  else
    std::printf("ranks on several GPUs SKIPPED, they were not run: there is one GPU\n");
}

#endif

}  // namespace
}  // namespace restride::distributed

int main() {
  if (!restride::distributed::multicast_is_off()) return 1;
#ifdef RESTRIDE_FAKE_NCCL
  setenv("CUDA_VISIBLE_DEVICES", "0", 0);  // the one that the ranks share
#endif
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
