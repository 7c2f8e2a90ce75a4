// Random block-cyclic matrices redistributed by ScaLAPACK's pdgemr2d and by restride: the same bytes on every rank.
// ScaLAPACK deals blocks of its own sizes over grids of its own shapes, from any first row and column of ranks on.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/distributed/random_exchange.h"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* my_row, int* my_column);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int m, int n, double* a, int ia, int ja, int* a_is, double* b, int ib, int jb, int* b_is, int context);
}

namespace {

using namespace restride;
using namespace restride::distributed;

/// A matrix as ScaLAPACK's descriptors say it, and as a distribution.
struct Matrix {
  int context = -1;
  int about[9] = {};
  Distribution distribution;
  std::vector<double> local;
};

Matrix matrix(test::Rng& rng, int m, int n, int ranks, int rank) {
  const int rows = static_cast<int>(test::pick(rng, 1, ranks)),
            columns = static_cast<int>(test::pick(rng, 1, ranks / rows));
  const bool by_rows = test::pick(rng, 0, 1) == 0;
  const int mb = static_cast<int>(test::pick(rng, 1, 17)), nb = static_cast<int>(test::pick(rng, 1, 17));
  const int first_row = static_cast<int>(test::pick(rng, 0, rows - 1));
  const int first_column = static_cast<int>(test::pick(rng, 0, columns - 1));
  Matrix out;
  Cblacs_get(-1, 0, &out.context);
  Cblacs_gridinit(&out.context, by_rows ? "R" : "C", rows, columns);
  std::ostringstream text;
  text << '(' << m << ',' << n << ") as (cyclic:" << mb << "[0]@" << first_row << ",cyclic:" << nb << "[1]@"
       << first_column << ") over (" << rows << ',' << columns << ')';
  if (!by_rows) text << ":(1," << rows << ')';
  out.distribution = parse_distribution(text.str() + " order (1,0)");
  const std::vector<Layout> dense = local_layouts(out.distribution, rank, DType::kF64);
  const std::int64_t local_rows = dense.empty() ? 0 : dense[0].modes[0].extent;
  std::int64_t elements = 0;
  for (const Layout& l : dense) elements += l.elements();
  out.local.assign(static_cast<std::size_t>(elements) + 1, -1);  // one more: never a null pointer
  const int about[9] = {
      1, out.context, m, n, mb, nb, first_row, first_column, std::max(1, static_cast<int>(local_rows))};
  std::copy(about, about + 9, out.about);
  return out;
}

/// Every element the hash of its place.
void fill(Matrix& a, int rank) {
  std::size_t at = 0;
  for (const Region& r : regions(a.distribution, rank))
    for (std::int64_t j = 0; j < r[1].size(); ++j)
      for (std::int64_t i = 0; i < r[0].size(); ++i)
        a.local[at++] = static_cast<double>(
            test::hash_of_index(static_cast<std::uint64_t>(r[0].global(i) * a.distribution.shape[1] + r[1].global(j)),
                                1) >>
            12);
}

int run(Comm& comm, int count, std::uint64_t seed) {
  int everyone = 0;
  Cblacs_get(-1, 0, &everyone);
  Cblacs_gridinit(&everyone, "R", 1, comm.size());
  for (int c = 0; c < count; ++c) {
    test::Rng rng(seed + static_cast<std::uint64_t>(c));
    const int m = static_cast<int>(test::pick(rng, 1, 130)), n = static_cast<int>(test::pick(rng, 1, 130));
    Matrix a = matrix(rng, m, n, comm.size(), comm.rank()), b = matrix(rng, m, n, comm.size(), comm.rank());
    fill(a, comm.rank());
    std::vector<double> ours = b.local;
    Cpdgemr2d(m, n, a.local.data(), 1, 1, a.about, b.local.data(), 1, 1, b.about, everyone);
    distributed::plan({a.distribution, DType::kF64, {}}, {b.distribution, DType::kF64, {}}, comm)
        .run(ours.data(), a.local.data());
    if (ours != b.local) {
      std::fprintf(stderr, "case %d on rank %d: restride and pdgemr2d differ\n  %s\n  %s\n", c, comm.rank(),
                   to_string(a.distribution).c_str(), to_string(b.distribution).c_str());
      return 1;
    }
    for (const Matrix* x : {&a, &b})
      if (x->context >= 0) Cblacs_gridexit(x->context);
  }
  if (comm.rank() == 0) std::printf("%d matrices on %d ranks as pdgemr2d has them\n", count, comm.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int status = 1;
  try {
    auto comm = mpi(&world);
    status = run(*comm, argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
}
