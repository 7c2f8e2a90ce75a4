// One rank of a launch under MPI: random exchanges, or one planted fault. Exit status 0: all is right. A fault that
// ends in its named error prints "rank N: named" and ends the job by MPI_Abort, because the others may be gone.
#include <mpi.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/distributed/lying_comm.h"
#include "tests/distributed/random_exchange.h"

namespace {

using namespace restride::distributed;
using restride::AgreementError;
using restride::DeadlineError;
using restride::DType;
using restride::Element;
using restride::Error;

bool the_next_send_fails = false;

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

ExchangeOptions soon(bool check_runs = true) {
  ExchangeOptions options;
  options.deadline = std::chrono::seconds(3);
  options.check_runs = check_runs;
  return options;
}

/// "pairs_alltoallv": alltoallv.
Method method_of(const std::string& kind) {
  for (const Method m : {Method::kMessages, Method::kAlltoallv, Method::kAlltoallw})
    if (kind.ends_with(name(m))) return m;
  return Method::kAuto;
}

std::string rows_over(int n) { return "(12,12) as (block[0],*) over (" + std::to_string(n) + ")"; }
std::string columns_over(int n) { return "(12,12) as (*,block[0]) over (" + std::to_string(n) + ")"; }

int cases(Comm& comm, int count, std::uint64_t seed) {
  for (int i = 0; i < count; ++i)
    if (const std::string wrong =
            test::run_case(comm, seed + static_cast<std::uint64_t>(i),
                           {Method::kAuto, Method::kMessages, Method::kAlltoallv, Method::kAlltoallw});
        !wrong.empty()) {
      std::fprintf(stderr, "%s\n", wrong.c_str());
      comm.abort(wrong);
      return 1;
    }
  if (comm.rank() == 0)
    std::printf("%d cases on %d ranks of %s\n", count, comm.size(), std::string(comm.engine()).c_str());
  return 0;
}

/// A message of more bytes than an int counts, from memory of zeros with marks where integers would wrap.
int large(Comm& comm) {
  constexpr std::int64_t kBytes = (std::int64_t{1} << 31) + 4099;
  constexpr std::int64_t kMarks[] = {0, 4098, (1 << 30) - 1, 1 << 30, INT32_MAX, kBytes - 4099, kBytes - 1};
  const std::string n = std::to_string(kBytes), shape = "(" + n + ") boxes ";
  auto* memory = static_cast<std::uint8_t*>(
      mmap(nullptr, static_cast<std::size_t>(kBytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  std::uint8_t mark = 1;
  if (comm.rank() == 0)
    for (const std::int64_t at : kMarks) memory[at] = mark++;
  ExchangeOptions options;
  options.deadline = std::chrono::seconds(60);
  Plan p = plan(side((shape + "0[0:" + n + "]").c_str(), DType::kU8),
                side((shape + "1[0:" + n + "]").c_str(), DType::kU8), comm, options);
  p.run(memory, memory);
  mark = 1;
  for (const std::int64_t at : kMarks)
    if (memory[at] != mark++) {
      std::fprintf(stderr, "byte %lld is %d\n", static_cast<long long>(at), memory[at]);
      return 1;
    }
  munmap(memory, static_cast<std::size_t>(kBytes));
  return 0;
}

/// Whether `plan` brings every rank the numbers 0, 1, ... of its part of a tensor with rows of `columns` elements.
bool brings(Plan& plan, int rank) {
  const Exchange& x = plan.exchange();
  const auto numbers = [&](const Distribution& d) {
    std::vector<std::int32_t> out;
    const std::vector<std::int64_t> shape = local_shape(d, rank);
    for (std::int64_t i = 0; i < shape[0]; ++i)
      for (std::int64_t j = 0; j < shape[1]; ++j)
        out.push_back(
            static_cast<std::int32_t>(global_index(d, rank, 0, 0, i) * d.shape[1] + global_index(d, rank, 0, 1, j)));
    return out;
  };
  const std::vector<std::int32_t> from = numbers(x.src()), wanted = numbers(x.dst());
  std::vector<std::int32_t> to(wanted.size(), -1);
  plan.run(to.data(), from.data());
  return to == wanted;
}

/// Ranks that run unlike plans, with messages of one part, of some, and too long to come with the fingerprints: each
/// time all ranks are told, nothing of dst is written, and the communicator goes on.
std::string unlike_runs(Comm& comm) {
  const bool odd = comm.rank() == 1;
  std::vector<Plan> plans;
  for (const char* text : {"12", "60", "150", "240", "960"}) {
    const std::string shape = std::string("(") + text + ',' + text + ") as ", over = " over (3)";
    plans.push_back(plan(side((shape + "(block[0],*)" + over).c_str()), side((shape + "(*,block[0])" + over).c_str()),
                         comm, soon()));
  }
  // Rank 0 has most: its messages are long, all others short.
  plans.push_back(plan(side("(600,100) boxes 0[0:590,0:100] 1[590:595,0:100] 2[595:600,0:100]"),
                       side("(600,100) as (block[0],*) over (3)"), comm, soon()));
  std::vector<std::int32_t> from(960 * 320), to(from.size(), -1);
  const std::vector<std::int32_t> untouched = to;
  for (Plan& a : plans)
    for (Plan& b : plans)
      for (const bool null : {false, true}) {
        if (&a == &b && !null) continue;
        try {
          (odd ? b : a).run(odd && null ? nullptr : to.data(), from.data());
          return "no error";
        } catch (const AgreementError&) {
        } catch (const restride::ArgumentError&) {
          if (!odd || !null) return "null elsewhere";
        }
        if (to != untouched) return "written";
      }
  for (int again = 0; again < 3; ++again)
    for (Plan& p : plans)
      if (!brings(p, comm.rank())) return "wrong elements";
  return "works";
}

/// What the fault comes to on this rank: the words of its error, or nothing.
std::string fault(Comm& comm, const std::string& kind) {
  const std::string rows = rows_over(comm.size()), columns = columns_over(comm.size());
  std::vector<std::int32_t> from(144), to(144);
  const bool odd = comm.rank() == 1;
  try {
    if (kind == "shape") {
      plan(side(odd ? "(12,13) as (*,*) over (1)" : rows.c_str()),
           side(odd ? "(12,13) as (*,*) over (1)" : columns.c_str()), comm, soon());
    } else if (kind == "dtype") {
      plan(side(rows.c_str(), odd ? DType::kI64 : DType::kI32), side(columns.c_str()), comm, soon());
    } else if (kind == "absent") {
      if (odd) std::this_thread::sleep_for(std::chrono::seconds(20));
      plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
    } else if (kind == "order") {
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      Plan b = plan(side(columns.c_str()), side(rows.c_str()), comm, soon());
      (odd ? b : a).run(to.data(), from.data());
    } else if (kind == "unchecked") {  // a rank that does not run, without 64 bytes in front of a run
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon(false));
      if (odd) std::this_thread::sleep_for(std::chrono::seconds(20));
      a.run(to.data(), from.data());
    } else if (kind == "send") {  // MPI fails in a meeting whose receives are open
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      the_next_send_fails = odd;
      try {
        a.run(to.data(), from.data());
      } catch (const Error&) {
        if (comm.unusable().empty()) return "usable";
        throw;
      }
    } else if (kind == "bounds") {  // of what comes along
      std::vector<char> mine(5000), all(mine.size() * static_cast<std::size_t>(comm.size()));
      const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);
      for (const std::int64_t bytes : {std::int64_t{5000}, std::int64_t{64}}) {
        Message one{(comm.rank() + 1) % comm.size(), mine.data(), bytes == 64 ? comm.most_carried() + 1 : 0};
        for (const bool sends : {false, true}) {
          try {
            comm.allgather_with(mine.data(), all.data(), bytes, {&one, sends ? 1U : 0U}, {&one, sends ? 0U : 1U}, "run",
                                deadline);
            return "no error";
          } catch (const restride::ArgumentError&) {
          }
        }
      }
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      return brings(a, comm.rank()) ? "works" : "wrong elements";
    } else if (kind == "unlike") {
      return unlike_runs(comm);
    } else if (kind == "null") {
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      a.run(odd ? nullptr : to.data(), from.data());
    } else if (kind == "short") {  // rank 0 sends 10 of the 100 bytes that rank 1 waits for
      std::vector<char> bytes(100);
      const Message in{1 - comm.rank(), bytes.data(), odd ? 100 : 10};
      if (comm.rank() > 1) return "AgreementError: only ranks 0 and 1";
      auto posted = comm.post({&in, 1}, 0, "run");
      posted->send({1 - comm.rank(), bytes.data(), 10});
      const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);
      while (posted->received(deadline) >= 0) {
      }
      posted->finish(deadline);
      if (!odd) return "AgreementError: is rank 1's to say";
    } else if (kind.starts_with("pairs_")) {  // checked mode: rank 1 would send a byte more than rank 0 expects
      test::LyingComm lying(comm);
      ExchangeOptions options = soon();
      options.method = method_of(kind);
      options.check_pairs = true;
      plan(side(rows.c_str()), side(columns.c_str()), odd ? static_cast<Comm&>(lying) : comm, options);
    } else if (kind.starts_with("limit_")) {  // a message of 6 GB; nothing is run
      const Side whole = side("(6442450944) boxes 0[0:6442450944]", DType::kU8);
      const Side wanted = side("(6442450944) boxes 1[0:6442450944]", DType::kU8);
      ExchangeOptions options = soon();
      const Plan automatic = plan(whole, wanted, comm, options);  // takes a method that has no limit
      options.method = method_of(kind);
      plan(whole, wanted, comm, options);
    } else if (kind.starts_with("nothing_")) {
      ExchangeOptions options = soon();
      options.method = method_of(kind);
      for (const char* text : {"(0,5) as (block[0],*) over (3)", "(0,5) as (*,cyclic[0]) over (3)", "(0,5) boxes"})
        plan(side(text), side("(0,5) as (*,block[0]) over (2)@1"), comm, options).run(nullptr, nullptr);
      return "works";
    } else if (kind.starts_with("destroyed_")) {  // a plan is destroyed while another runs
      ExchangeOptions options = soon();
      options.method = method_of(kind);
      auto gone = std::make_unique<Plan>(plan(side(columns.c_str()), side(rows.c_str()), comm, options));
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, options);
      from.assign(from.size(), comm.rank());
      a.start(to.data(), from.data());
      gone.reset();
      a.wait();
      const std::int32_t size = comm.size(), each = 144 / size / size;  // of its columns, from every rank
      for (std::int32_t i = 0; i < 144 / size; ++i)
        if (to[static_cast<std::size_t>(i)] != i / each) return "wrong elements";
      return "works";
    } else if (kind == "killed_before") {
      if (odd) kill(getpid(), SIGKILL);
      plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
    } else if (kind == "killed_during") {
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      a.start(to.data(), from.data());
      if (odd) kill(getpid(), SIGKILL);
      a.wait();
      a.run(to.data(), from.data());
    } else if (kind == "killed") {  // between plan and run
      Plan a = plan(side(rows.c_str()), side(columns.c_str()), comm, soon());
      if (odd) kill(getpid(), SIGKILL);
      a.run(to.data(), from.data());
    }
  } catch (const AgreementError& e) {
    return std::string("AgreementError: ") + e.what();
  } catch (const DeadlineError& e) {
    return std::string("DeadlineError: ") + e.what();
  } catch (const Error& e) {
    return std::string("Error: ") + e.what();
  }
  return "no error";
}

}  // namespace

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  return std::exchange(the_next_send_fails, false) ? MPI_ERR_OTHER
                                                   : PMPI_Isend(data, count, type, to, tag, comm, request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int status = 0;
  try {
    auto comm = mpi(&world, std::chrono::seconds(30));
    if (argc == 4 && std::strcmp(argv[1], "cases") == 0) {
      status = cases(*comm, std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10));
    } else if (argc == 2 && std::strcmp(argv[1], "large") == 0) {
      status = large(*comm);
    } else if (argc == 3 && std::strcmp(argv[1], "fault") == 0) {
      const std::string said = fault(*comm, argv[2]);
      std::printf("rank %d: %s\n", comm->rank(), said.c_str());
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::seconds(3));  // so that every live rank has said its own
      MPI_Abort(MPI_COMM_WORLD, 7);
    } else {
      std::fprintf(stderr, "mpi_program cases COUNT SEED | large | fault KIND\n");
      status = 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}
