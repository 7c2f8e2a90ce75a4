// Scopes that leave the caller's CUDA state as it was: the runtime's last error and the current device.
#pragma once

#include <cuda_runtime_api.h>

namespace restride::launch {

/// Runtime calls inside its scope leave the thread's last error as they found it. One that the caller left there
/// stays, unless a call of ours fails too: CUDA keeps only the latest.
class LastErrorGuard {
 public:
  LastErrorGuard() noexcept : before_(cudaPeekAtLastError()) {}
  ~LastErrorGuard() {
    if (before_ == cudaSuccess && cudaPeekAtLastError() != cudaSuccess) (void)cudaGetLastError();
  }
  LastErrorGuard(const LastErrorGuard&) = delete;
  LastErrorGuard& operator=(const LastErrorGuard&) = delete;

 private:
  cudaError_t before_;
};

/// Makes a device current for a scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ == device)
      before_ = -1;  // nothing to put back
    else
      status_ = cudaSetDevice(device);
  }
  ~CurrentDevice() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  cudaError_t status() const noexcept { return status_; }

 private:
  int before_ = -1;
  cudaError_t status_ = cudaSuccess;
};

}  // namespace restride::launch
