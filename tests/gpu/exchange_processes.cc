// Exchanges of memory of GPUs between ranks that are processes of this host, by CUDA IPC: exchange_processes [CASES].
// Exit status: 0 all well, 77 no GPU and nothing tested, 1 else.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "tests/gpu/on_gpu.h"

namespace restride::distributed {
namespace {

constexpr int kMost = 8;
constexpr std::size_t kSlot = 1 << 16;

/// What the processes share.
struct Board {
  std::atomic<int> came{0}, round{0};
  std::atomic<bool> broken{false};
  std::byte slots[kMost][kSlot];
};

class Forked final : public Comm {
 public:
  Forked(Board& board, int rank, int size) : board_(board), rank_(rank), size_(size) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view engine() const noexcept override { return "processes"; }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    const auto n = static_cast<std::size_t>(bytes);
    if (n > kSlot) throw std::runtime_error("a slot is too small");
    if (n > 0) std::memcpy(board_.slots[rank_], mine, n);
    meet(what, deadline);
    for (int r = 0; n > 0 && r < size_; ++r)
      std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * n, board_.slots[r], n);
    meet(what, deadline);
  }
  std::unique_ptr<Posted> post(std::span<const Message>, std::int64_t, std::string_view) override { return nullptr; }
  void abort(const std::string&) override { board_.broken = true; }

 private:
  void meet(std::string_view what, Deadline deadline) {
    const int round = board_.round;
    if (++board_.came == size_) {
      board_.came = 0;
      ++board_.round;
      return;
    }
    while (board_.round == round) {
      if (board_.broken || std::chrono::steady_clock::now() > deadline)
        throw DeadlineError("a rank did not come to " + std::string(what));
      std::this_thread::yield();
    }
  }

  Board& board_;
  int rank_, size_;
};

Side side(const char* text) { return {parse_distribution(text), DType::kI32, {}}; }

/// A rank with memory of the host: named here, and on the others.
std::string wrong_memory(Comm& comm, int gpu) {
  ExchangeOptions options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = gpu;
  options.deadline = std::chrono::seconds(20);
  Plan p = plan(side("(8) as (block[0]) over (2)"), side("(8) as (cyclic[0]) over (2)"), comm, options);
  if (comm.rank() < 2 && p.explain().find(" 1 in other processes") == std::string::npos) return p.explain();
  restride::test::DeviceBuffer src(32), dst(32);
  std::int32_t host[8] = {};
  try {
    p.run(comm.rank() == 1 ? static_cast<void*>(host) : dst.data(), src.data());
  } catch (const DeviceError& e) {
    return comm.rank() == 1 ? "" : e.what();
  } catch (const AgreementError& e) {
    return comm.rank() != 1 ? "" : e.what();
  }
  return "no error";
}

std::string run(Comm& comm, std::int64_t cases) {
  const int gpu = test::take_gpu(comm);
  if (comm.size() > 1)
    if (std::string wrong = wrong_memory(comm, gpu); !wrong.empty()) return wrong;
  test::OnGpu runner(comm, static_cast<std::uint64_t>(comm.size() * 100 + comm.rank()));
  for (std::int64_t i = 0; i < cases; ++i)
    if (std::string wrong =
            test::run_case(comm, static_cast<std::uint64_t>(comm.size() * 1'000'000 + i), {Method::kAuto}, runner);
        !wrong.empty())
      return wrong;
  return {};
}

/// In a process of its own: this one must not have used CUDA when it makes others.
template <class Body>
pid_t in_a_process(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 1;
  try {
    status = body();
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int exchange(int ranks, std::int64_t cases) {
  void* shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* board = new (shared) Board;
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r)
    children.push_back(in_a_process([&] {
      Forked comm(*board, r, ranks);
      const std::string wrong = run(comm, cases);
      if (wrong.empty()) return 0;
      comm.abort(wrong);
      std::printf("rank %d of %d: %s\n", r, ranks, wrong.c_str());
      return 1;
    }));
  int failed = 0;
  for (pid_t child : children) failed |= status_of(child);
  std::printf("%d processes, %lld random exchanges: %s\n", ranks, static_cast<long long>(cases),
              failed == 0 ? "all well" : "FAILED");
  munmap(shared, sizeof(Board));
  return failed;
}

}  // namespace
}  // namespace restride::distributed

int main(int argc, char** argv) {
  namespace dist = restride::distributed;
  const std::int64_t cases = argc > 1 ? std::atoll(argv[1]) : 50;
  const int gpus = dist::status_of(dist::in_a_process([] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? 0 : 77;
  }));
  if (gpus != 0) {
    std::printf("exchange_processes SKIPPED, nothing was tested: no GPU\n");
    return gpus;
  }
  int failed = 0;
  for (int ranks = 1; ranks <= 4; ++ranks) failed |= dist::exchange(ranks, cases);
  return failed;
}
