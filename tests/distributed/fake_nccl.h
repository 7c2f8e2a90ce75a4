// An NCCL for tests whose ranks are threads of one process, on any Device: the calls that the module makes, with the
// behaviour that matters. A message that never comes holds up a stream of the host for ever, until an abort.
#pragma once

#include <memory>
#include <vector>

#include "src/distributed/device.h"

namespace restride::distributed::test {

/// ncclComm_t, one a rank. `devices`: one a rank, kept.
__attribute__((visibility("default"))) std::vector<void*> make_fake_nccl(
    const std::vector<std::shared_ptr<Device>>& devices);

/// Bytes that ranks have sent to others so far, by every second communicator that was split off.
__attribute__((visibility("default"))) long long bytes_by_fake_nccl();

/// From now on the rank's communicators, and those split off, report an error: as when a peer's process has ended.
__attribute__((visibility("default"))) void break_fake_nccl(void* comm);

}  // namespace restride::distributed::test
