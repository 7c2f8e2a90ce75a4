// What a module for one MPI offers: one function, by its C name. The MPIs' ABIs differ, so each has a module of its
// own, made of the same source; the library itself needs no MPI to build or start.
#pragma once

#include <chrono>
#include <memory>

#include <restride/distributed.hpp>

namespace restride::distributed {

/// Changes with Comm, Posted or this file: a module of another version is refused.
inline constexpr int kMpiModuleVersion = 3;

struct MpiModule {
  int version;
  std::unique_ptr<Comm> (*make)(const void* mpi_comm, std::chrono::milliseconds deadline);
};

/// The function's name and type.
inline constexpr const char* kMpiModuleSymbol = "restride_mpi_module";
using MpiModuleFunction = const MpiModule* (*)();

}  // namespace restride::distributed
