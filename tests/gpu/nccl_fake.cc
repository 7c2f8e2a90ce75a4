// Exchanges by an NCCL of tests/distributed/fake_nccl.cc, which copies from one rank's memory to another's: ranks are
// threads that share one GPU; kernels, streams and events are CUDA's.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "src/distributed/nccl/cuda_device.h"
#include "tests/distributed/fake_nccl.h"
#include "tests/gpu/nccl_program.h"

namespace restride::distributed::test {
namespace {

std::string on_ranks(int ranks, const std::function<std::string(Comm&)>& body) {
  std::vector<std::shared_ptr<Device>> devices(static_cast<std::size_t>(ranks), cuda_device(0));
  const std::vector<void*> users = make_fake_nccl(devices);
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

}  // namespace
}  // namespace restride::distributed::test

int main() {
  if (!restride::distributed::multicast_is_off()) return 1;
  setenv("CUDA_VISIBLE_DEVICES", "0", 0);  // the one that the ranks share
  return restride::distributed::test::run_program("nccl_program_fake", restride::distributed::test::all_tests);
}
