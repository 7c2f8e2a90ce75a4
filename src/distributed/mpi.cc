// Finds out which MPI the process has, and loads the module for it.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <restride/distributed.hpp>

#include "src/distributed/mpi/module.h"

namespace restride::distributed {
namespace {

struct LoadedMpi {
  std::string which;  ///< "openmpi", "mpich", or nothing
  std::string path;   ///< of its library
};

/// By the libraries that are loaded, whoever loaded them. An MPI that was loaded for a Python module is not found by
/// its symbols.
LoadedMpi loaded_mpi() {
  LoadedMpi found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        const std::string name = path.substr(path.rfind('/') + 1);
        auto& to = *static_cast<LoadedMpi*>(out);
        if (name.starts_with("libmpich.so")) to = {"mpich", path};
        if (name.starts_with("libmpi.so")) {
          // MPICH's own builds, and those of its ABI, use this name, too.
          void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
          to = {library != nullptr && dlsym(library, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich", path};
          if (library != nullptr) dlclose(library);
        }
        return to.which.empty() ? 0 : 1;
      },
      &found);
  return found;
}

std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&mpi), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

MpiModuleFunction load(const LoadedMpi& mpi) {
  const std::string& which = mpi.which;
  // A module names no library of MPI: its symbols are those of the one that the process has, wherever it came from.
  dlopen(mpi.path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  const std::string file = "librestride_mpi_" + which + ".so", here = folder_of_this_library();
  std::vector<std::string> folders{here, here + "/restride", here + "/../lib/restride"};
#ifdef RESTRIDE_MODULE_FOLDER
  folders.emplace_back(RESTRIDE_MODULE_FOLDER);
#endif
  if (const char* set = std::getenv("RESTRIDE_MODULES"); set != nullptr && *set != '\0')
    folders.insert(folders.begin(), set);
  std::string tried;
  for (const std::string& folder : folders) {
    void* module = dlopen((folder + '/' + file).c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for the process's life
    if (module == nullptr) {
      tried += "; " + std::string(dlerror());
      continue;
    }
    if (void* symbol = dlsym(module, kMpiModuleSymbol)) return reinterpret_cast<MpiModuleFunction>(symbol);
    tried += "; " + folder + '/' + file + " is no module of restride";
  }
  throw UnsupportedError("this process has " + which + ", and " + file + " is not found" + tried +
                         ". Build restride where its headers are (RESTRIDE_MPI=ON), or set RESTRIDE_MODULES");
}

}  // namespace

std::unique_ptr<Comm> mpi(const void* mpi_comm, std::chrono::milliseconds deadline) {
  if (mpi_comm == nullptr) throw ArgumentError("mpi_comm is null; give the address of an MPI_Comm");
  const LoadedMpi loaded = loaded_mpi();
  if (loaded.which.empty())
    throw UnsupportedError("no MPI is loaded into this process; link Open MPI or MPICH and call MPI_Init first");
  const MpiModule* module = load(loaded)();
  if (module->version != kMpiModuleVersion)
    throw UnsupportedError("the module for " + loaded.which +
                           " is of another version of restride; install both together");
  return module->make(mpi_comm, deadline);
}

}  // namespace restride::distributed
