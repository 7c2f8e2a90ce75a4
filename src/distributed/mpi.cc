// Finds out which MPI the process has, and loads the module for it.
#include <dlfcn.h>

#include <algorithm>
#include <string>

#include <restride/distributed.hpp>

#include "src/distributed/agreement.h"
#include "src/distributed/modules.h"
#include "src/distributed/mpi/module.h"

namespace restride::distributed {
namespace {

/// An MPI that was loaded for a Python module is not found by its symbols.
std::string which_mpi(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libmpich.so")) return "mpich";
  if (!name.starts_with("libmpi.so")) return {};
  // MPICH's own builds, and those of its ABI, use this name, too.
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  const bool open_mpi = library != nullptr && dlsym(library, "ompi_mpi_comm_world") != nullptr;
  if (library != nullptr) dlclose(library);
  return open_mpi ? "openmpi" : "mpich";
}

}  // namespace

std::unique_ptr<Comm> mpi(const void* mpi_comm, std::chrono::milliseconds deadline) {
  if (mpi_comm == nullptr) throw ArgumentError("mpi_comm is null; give the address of an MPI_Comm");
  if (deadline.count() <= 0) throw ArgumentError("a deadline of 0 ms or less; use a positive one");
  std::string which;
  const std::string path = loaded_library([&](const std::string& candidate) {
    which = which_mpi(candidate);
    return !which.empty();
  });
  if (path.empty())
    throw UnsupportedError("no MPI is loaded into this process; link Open MPI or MPICH and call MPI_Init first");
  const auto function = reinterpret_cast<MpiModuleFunction>(
      module_function("mpi_" + which, kMpiModuleSymbol, path, "this process has " + which,
                      "Build restride where its headers are (RESTRIDE_MPI=ON)"));
  const MpiModule* module = function();
  if (module->version != kMpiModuleVersion)
    throw UnsupportedError("the module for " + which + " is of another version of restride; install both together");
  return module->make(mpi_comm, std::min(deadline, kLongestDeadline));
}

}  // namespace restride::distributed
