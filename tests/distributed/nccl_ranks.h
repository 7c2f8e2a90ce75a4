// Runs a function as every rank of a fake NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/distributed/nccl/module.h"
#include "tests/distributed/fake_nccl.h"
#include "tests/distributed/host_device.h"

namespace restride::distributed::test {

class NcclRank {
 public:
  NcclRank(std::shared_ptr<HostDevice> device, void* user)
      : device_(std::move(device)), user_(user), comm_(nccl_on(user, device_, std::chrono::seconds(20))) {}
  Comm& comm() { return *comm_; }
  HostDevice& host() { return *device_; }
  void* user() { return user_; }

 private:
  std::shared_ptr<HostDevice> device_;
  void* user_;
  std::unique_ptr<Comm> comm_;
};

/// Where the ranks are: on one host they meet in memory, else by NCCL's messages.
enum class Hosts : std::uint8_t { kOne, kEachItsOwn };

/// What each rank's `body` returned, or the message of what it threw.
inline std::vector<std::string> on_nccl(int ranks, const std::function<std::string(NcclRank&)>& body, int jitter_us = 0,
                                        Hosts hosts = Hosts::kOne) {
  std::vector<std::shared_ptr<HostDevice>> devices;
  for (int r = 0; r < ranks; ++r) {
    devices.push_back(std::make_shared<HostDevice>(jitter_us, static_cast<unsigned>(r)));
    if (hosts == Hosts::kEachItsOwn) devices.back()->host_number += static_cast<std::uint64_t>(r);
  }
  const std::vector<void*> comms = make_fake_nccl({devices.begin(), devices.end()});
  std::vector<std::string> out(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < out.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        NcclRank rank(devices[r], comms[r]);
        out[r] = body(rank);
      } catch (const std::exception& e) {
        out[r] = std::string("error: ") + e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return out;
}

}  // namespace restride::distributed::test
