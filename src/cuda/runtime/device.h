// The CUDA driver and its devices as the rest of the library sees them. No CUDA headers; device.cc implements
// it, device_none.cc answers for a library built without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <restride/copy.hpp>

#include "src/cuda/launch.h"
#include "src/cuda/machine.h"
#include "src/cuda/pairs.h"
#include "src/cuda/runtime/place.h"

namespace restride::cuda {

/// What CUDA knows of a pointer. Initialises nothing: as long as nobody in the process has used CUDA, every pointer
/// is the host's. Leaves the runtime's last error alone.
/// Cost: about 100 ns; a few without a driver.
Place place_of(const void* pointer) noexcept;

/// Whether this process sees one device and no other. Cost: nanoseconds after the first call.
bool has_one_device() noexcept;

/// The device of a stream; -1 when it cannot be told (a default stream, or where there are several devices one that is
/// being captured, or a driver before 12.8).
int device_of_stream(void* stream) noexcept;

/// The calling thread's current device; -1 without one.
int current_device() noexcept;

/// Throws DeviceError, with the reason, unless `device` is the number of a usable GPU.
void require_device(int device);

/// What planning knows of a device. `device` has passed require_device. The first call for a device from sm_90 on makes
/// its context, to see which code is loaded there.
CudaMachine machine_of(int device);

/// Whether bulk tensor copies may run on a device: the code that is loaded there holds them, and the driver can
/// describe tensors. Planning and launching both ask this. Cost: nanoseconds after the first call for a device.
bool has_bulk_copies(int device) noexcept;

/// Enqueues on a stream of `device`, which is made current for the call and then put back.
/// Returns a cudaError_t. A failure of ours is not left behind as the runtime's last error, unless the caller had left
/// one there, which it replaces.
int run_cuda(int device, const cuda::CudaArgs& args, void* dst, const void* src, void* stream) noexcept;

/// The same for many pairs, by as few launches as the kernel and the driver allow; those before one that fails have
/// been made.
int run_cuda_many(int device, const cuda::CudaArgs& args, const PointerPairs& pairs, void* stream) noexcept;

/// CUDA's words for what run_cuda returned.
std::string error_text(int status);

/// What run_cuda returns where no GPU can be used: cudaErrorNoDevice.
inline constexpr int kNoDeviceError = 100;

}  // namespace restride::cuda
