// One rank of a launch under MPI: random exchanges, or one planted fault. Exit status 0: all is right. A fault that
// ends in its named error prints "rank N: named" and ends the job by MPI_Abort, because the others may be gone.
#include <mpi.h>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/distributed/random_exchange.h"

namespace {

using namespace restride::distributed;
using restride::AgreementError;
using restride::DeadlineError;
using restride::DType;
using restride::Element;
using restride::Error;

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

ExchangeOptions soon(bool check_runs = true) {
  ExchangeOptions options;
  options.deadline = std::chrono::seconds(3);
  options.check_runs = check_runs;
  return options;
}

std::string rows_over(int n) { return "(12,12) as (block[0],*) over (" + std::to_string(n) + ")"; }
std::string columns_over(int n) { return "(12,12) as (*,block[0]) over (" + std::to_string(n) + ")"; }

int cases(Comm& comm, int count, std::uint64_t seed) {
  for (int i = 0; i < count; ++i)
    if (const std::string wrong =
            test::run_case(comm, seed + static_cast<std::uint64_t>(i), {Method::kAuto, Method::kMessages});
        !wrong.empty()) {
      std::fprintf(stderr, "%s\n", wrong.c_str());
      comm.abort(wrong);
      return 1;
    }
  if (comm.rank() == 0)
    std::printf("%d cases on %d ranks of %s\n", count, comm.size(), std::string(comm.engine()).c_str());
  return 0;
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
    } else if (kind == "killed") {
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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int status = 0;
  try {
    auto comm = mpi(&world, std::chrono::seconds(30));
    if (argc == 4 && std::strcmp(argv[1], "cases") == 0) {
      status = cases(*comm, std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10));
    } else if (argc == 3 && std::strcmp(argv[1], "fault") == 0) {
      const std::string said = fault(*comm, argv[2]);
      std::printf("rank %d: %s\n", comm->rank(), said.c_str());
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::seconds(3));  // so that every live rank has said its own
      MPI_Abort(MPI_COMM_WORLD, 7);
    } else {
      std::fprintf(stderr, "mpi_program cases COUNT SEED | fault KIND\n");
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
