// Ranks of MPI: rows become columns. mpirun -np 4 ./exchange_mpi
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <restride/distributed.hpp>
namespace dist = restride::distributed;
using restride::DType;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int wrong = 0;
  try {
    const auto comm = dist::mpi(&world);  // collective; a communicator of its own
    const std::string n = std::to_string(comm->size());
    const dist::Distribution rows = dist::parse_distribution("(60,84) as (block[0],*) over (" + n + ")");
    const dist::Distribution columns = dist::parse_distribution("(60,84) as (*,block[0]) over (" + n + ")");
    const std::vector<std::int64_t> mine = dist::local_shape(rows, comm->rank());
    const std::vector<std::int64_t> got = dist::local_shape(columns, comm->rank());
    const std::int64_t first_row = mine[0] > 0 ? dist::global_index(rows, comm->rank(), 0, 0, 0) : 0;
    const std::int64_t first_column = got[1] > 0 ? dist::global_index(columns, comm->rank(), 0, 1, 0) : 0;

    std::vector<std::int32_t> in(static_cast<std::size_t>(mine[0] * mine[1])),
        out(static_cast<std::size_t>(got[0] * got[1]));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<std::int32_t>(first_row * 84 + static_cast<std::int64_t>(i));
    dist::Plan plan = dist::plan({rows, DType::kI32, {}}, {columns, DType::kI32, {}}, *comm);
    plan.run(out.data(), in.data());
    for (std::int64_t r = 0; r < got[0]; ++r)
      for (std::int64_t c = 0; c < got[1]; ++c)
        wrong += out[static_cast<std::size_t>(r * got[1] + c)] != r * 84 + first_column + c;
    if (comm->rank() == 0) std::printf("%s", plan.explain().c_str());
  } catch (const restride::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // after a deadline others may be gone
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
