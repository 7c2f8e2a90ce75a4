// Exchanges by NCCL itself: one rank that sends to itself; and on all GPUs of the host, a thread and a GPU a rank,
// staged and fused, captured in graphs, by two communicators at once. With one GPU it says that the latter was not run.
#include <nccl.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "src/distributed/gpu_link.h"
#include "src/distributed/nccl/module.h"
#include "tests/gpu/nccl_program.h"

namespace restride::distributed::test {
namespace {

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
  std::byte* allocate(std::int64_t bytes) override { return link_.allocate(bytes); }
  void free(std::byte* memory) noexcept override { link_.free(memory); }
  void connect(std::span<const Message> sends, std::span<const Message> receives, Deadline deadline) override {
    link_.connect(sends, receives, deadline);
  }
  void watch(RunWord* word, std::chrono::milliseconds most) override { link_.watch(word, most); }
  void forget(RunWord* word) noexcept override { link_.forget(word); }

 private:
  Comm& inner_;
  GpuLink& link_;
};

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
std::string replayed_alone(Comm& comm, Method method) {
  Square square(comm, "(96,97)");
  ExchangeOptions options = options_of(true, method);
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
std::string given_up(Comm& comm, Method method) {
  Square square(comm, "(96,97)");
  Plan p = square.plan_on(comm, options_of(true, method));
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
    for (const Method method : methods) {
      if (method == Method::kAuto) continue;
      const std::string with = ", " + std::string(name(method)) + on;
      report(("a replay of one rank alone ends" + with).c_str(),
             on_gpus(ranks, 1, [&](const auto& comms) { return replayed_alone(*comms[0], method); }));
      report(("a rank that gives up in a run is named" + with).c_str(),
             on_gpus(ranks, 1, [&](const auto& comms) { return given_up(*comms[0], method); }));
    }
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

}  // namespace
}  // namespace restride::distributed::test

int main() {
  if (!restride::distributed::multicast_is_off()) return 1;
  return restride::distributed::test::run_program("nccl_program_real", restride::distributed::test::all_tests);
}
