// Loads the module for NCCL, for the NCCL that the process has.
#include <algorithm>
#include <string>

#include <restride/distributed.hpp>

#include "src/distributed/agreement.h"
#include "src/distributed/modules.h"
#include "src/distributed/nccl/module.h"

namespace restride::distributed {

std::unique_ptr<Comm> nccl_on(void* nccl_comm, std::shared_ptr<Device> device, std::chrono::milliseconds deadline) {
  if (nccl_comm == nullptr) throw ArgumentError("nccl_comm is null; give an ncclComm_t");
  if (deadline.count() <= 0) throw ArgumentError("a deadline of 0 ms or less; use a positive one");
  const std::string path =
      loaded_library([](const std::string& p) { return p.substr(p.rfind('/') + 1).starts_with("libnccl.so"); });
  if (path.empty())
    throw UnsupportedError("no NCCL is loaded into this process; link libnccl.so, or import what brings it");
  const auto function = reinterpret_cast<NcclModuleFunction>(module_function(
      "nccl", kNcclModuleSymbol, path, "this process has NCCL", "Build restride where nccl.h is (RESTRIDE_NCCL=ON)"));
  const NcclModule* module = function();
  if (module->version != kNcclModuleVersion)
    throw UnsupportedError("the module for NCCL is of another version of restride; install both together");
  return module->make(nccl_comm, std::move(device), std::min(deadline, kLongestDeadline));
}

std::unique_ptr<Comm> nccl(void* nccl_comm, std::chrono::milliseconds deadline) {
  return nccl_on(nccl_comm, nullptr, deadline);
}

}  // namespace restride::distributed
