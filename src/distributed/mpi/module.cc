// What the library loads of a module for MPI. All of the module is compiled once for each MPI (src/CMakeLists.txt) and
// uses MPI 3.0 alone.
#include "src/distributed/mpi/module.h"

#include "src/distributed/mpi/comm.h"

namespace restride::distributed {
namespace {

std::unique_ptr<Comm> make(const void* mpi_comm, std::chrono::milliseconds deadline) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0)
    throw ArgumentError("MPI is not initialised, or finalised already; call mpi() between");
  return std::make_unique<MpiComm>(*static_cast<const MPI_Comm*>(mpi_comm), deadline);
}

}  // namespace
}  // namespace restride::distributed

extern "C" __attribute__((visibility("default"))) const restride::distributed::MpiModule* restride_mpi_module() {
  static constexpr restride::distributed::MpiModule kModule{restride::distributed::kMpiModuleVersion,
                                                            restride::distributed::make};
  return &kModule;
}
