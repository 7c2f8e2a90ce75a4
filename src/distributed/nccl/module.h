// What the module for NCCL offers: one function, by its C name. It is built against nccl.h and links no NCCL: that is
// the one of the process, PyTorch's or the system's.
#pragma once

#include <chrono>
#include <memory>

#include <restride/distributed.hpp>

#include "src/distributed/device.h"

namespace restride::distributed {

/// Changes with Comm, GpuLink, Device or this file: a module of another version is refused.
inline constexpr int kNcclModuleVersion = 4;

struct NcclModule {
  int version;
  /// Of an ncclComm_t. `device`: none for the GPU of the communicator.
  std::unique_ptr<Comm> (*make)(void* nccl_comm, std::shared_ptr<Device> device, std::chrono::milliseconds deadline);
};

inline constexpr const char* kNcclModuleSymbol = "restride_nccl_module";
using NcclModuleFunction = const NcclModule* (*)();

/// nccl() with a device of the caller's.
std::unique_ptr<Comm> nccl_on(void* nccl_comm, std::shared_ptr<Device> device, std::chrono::milliseconds deadline);

}  // namespace restride::distributed
