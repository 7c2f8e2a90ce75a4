// Which GPUs this library can use, and why not when it cannot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <restride/detail/visibility.hpp>

namespace restride RESTRIDE_PUBLIC {

/// A GPU as CUDA numbers it in this process (CUDA_VISIBLE_DEVICES counts).
struct CudaDevice {
  int index = 0;
  std::string name;
  int cc_major = 0;  ///< compute capability
  int cc_minor = 0;
  int sm_count = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  double copy_gbps = 0;  ///< speed of a device-to-device copy for planning, read + written, 10^9 bytes a second
};

/// The GPUs that the library found on this machine.
struct CudaStatus {
  bool built = false;         ///< the library holds GPU code
  int runtime_version = 0;    ///< 13000 is CUDA 13.0; 0 when not built
  int driver_version = 0;     ///< the newest CUDA the driver serves; 0 without a driver
  std::string architectures;  ///< "80 90 100 + PTX"; empty when not built
  std::string reason;         ///< why there is no device; empty when there is one
  std::vector<CudaDevice> devices;
};

/// Looks for GPUs. Never throws for want of one: `reason` says what is missing and what to do.
/// Cost: the first call initialises the CUDA driver (tens to hundreds of milliseconds) but makes no context.
CudaStatus cuda_status();

}  // namespace restride
