// Scopes that leave the caller's CUDA state as it was: the runtime's last error and the current device.
#pragma once

#include <cuda_runtime_api.h>

#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/driver.h"

namespace restride::cuda {

/// Runtime calls inside its scope leave the thread's last error as they found it. One that the caller left there
/// stays, unless a call of ours fails too: CUDA keeps only the latest.
class LastErrorGuard {
 public:
  LastErrorGuard() noexcept : before_(cudaPeekAtLastError()) {}
  ~LastErrorGuard() {
    if (before_ == cudaSuccess && cudaPeekAtLastError() != cudaSuccess) (void)cudaGetLastError();
  }
  /// Every call inside the scope has succeeded: none left an error.
  void succeeded() noexcept { before_ = cudaErrorUnknown; }
  LastErrorGuard(const LastErrorGuard&) = delete;
  LastErrorGuard& operator=(const LastErrorGuard&) = delete;

 private:
  cudaError_t before_;
};

/// Makes a device current for a scope; where it is already, nothing is done. Else the device's primary context is
/// pushed and popped again, and the caller's device is not touched: cudaSetDevice on the way back would make a context
/// on one that was never used, and put a primary context in the place of another one of the caller's.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) noexcept {
    if (has_one_device()) return;  // no other one can be current
    // The driver's answer takes a third of the runtime's time; a thread without a context gets none.
    CUdevice current = -1;
    const Driver& d = driver();
    if (d.context_device != nullptr && d.context_device(&current) == CUDA_SUCCESS && current == device) return;
    int before = -1;
    if (cudaGetDevice(&before) != cudaSuccess || before != device) status_ = static_cast<cudaError_t>(enter(device));
  }
  ~CurrentDevice() {
    CUcontext ours = nullptr;
    if (entered_) (void)driver().pop_context(&ours);
    if (release_) (void)driver().primary_release(device_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  cudaError_t status() const noexcept { return status_; }

 private:
  /// A CUresult, whose values cudaError_t shares.
  CUresult enter(CUdevice device) noexcept {
    const Driver& d = driver();
    if (d.push_context == nullptr) return CUDA_ERROR_NO_DEVICE;
    unsigned flags = 0;
    int active = 0;
    CUcontext context = nullptr;
    device_ = device;
    if (const CUresult rc = d.primary_state(device, &flags, &active); rc != CUDA_SUCCESS) return rc;
    if (const CUresult rc = d.primary_retain(&context, device); rc != CUDA_SUCCESS) return rc;
    release_ = active != 0;  // one that this call made stays, as one of cudaSetDevice's would
    const CUresult rc = d.push_context(context);
    entered_ = rc == CUDA_SUCCESS;
    return rc;
  }

  CUdevice device_ = 0;
  bool entered_ = false, release_ = false;
  cudaError_t status_ = cudaSuccess;
};

}  // namespace restride::cuda
