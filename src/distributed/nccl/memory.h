// The memory of a communicator: for notes, and for the messages of staged runs.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "src/distributed/device.h"

namespace restride::distributed {

/// Memory that is given back with its owner.
struct Buffer {
  Buffer(Device& d, bool s) : device(d), shared(s) {}
  ~Buffer() { clear(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* reserve(std::int64_t bytes) {
    if (bytes > size) {
      clear();
      data = shared ? device.allocate_shared(bytes) : device.allocate(bytes);
      size = bytes;
    }
    return data;
  }
  void clear() {
    if (data != nullptr) shared ? device.free_shared(data) : device.free(data);
    data = nullptr;
    size = 0;
  }
  Device& device;
  bool shared;
  std::byte* data = nullptr;
  std::int64_t size = 0;
};

/// Registered memory is written by the sender's kernels; else NCCL copies by a buffer of its own.
class RegisteredMemory {
 public:
  /// Not registered where NCCL does not do so. Errors: DeviceError.
  std::byte* allocate(ncclComm_t comm, Device& device, std::int64_t bytes) {
    const Device::Aside aside(device);
    void *memory = nullptr, *handle = nullptr;
    if (device.is_host() || ncclMemAlloc(&memory, static_cast<std::size_t>(bytes)) != ncclSuccess)
      return device.allocate(bytes);
    if (ncclCommRegister(comm, memory, static_cast<std::size_t>(bytes), &handle) != ncclSuccess) handle = nullptr;
    handles_.emplace(memory, handle);
    return static_cast<std::byte*>(memory);
  }

  /// Waits for the GPU. `is_broken`: other ranks' kernels may still store there, so it stays.
  void free(ncclComm_t comm, Device& device, std::byte* memory, bool is_broken) noexcept {
    const Device::Aside aside(device);
    const auto at = handles_.find(memory);
    if (at == handles_.end()) return device.free(memory);
    if (is_broken) return;
    device.wait_for_all();
    if (at->second != nullptr) ncclCommDeregister(comm, at->second);
    ncclMemFree(memory);
    handles_.erase(at);
  }

 private:
  std::map<void*, void*> handles_;  ///< of memory that NCCL has made; null: not registered
};

}  // namespace restride::distributed
