// What the kernels that a device runs were compiled for. What the device is does not say it: a build without sm_90 runs
// on newer chips by the PTX of an older architecture, and its bulk copies are nothing then.
#pragma once

namespace restride::cuda {

inline constexpr int kBulkCode = 90;  ///< kernels by bulk tensor copies must have been compiled for this or more

/// The architecture that the current device's kernels were compiled for, as __CUDA_ARCH__ / 10 was: 80, 90, 100.
/// 0 where no kernel can be loaded. Makes the device's context; may be called during a capture.
int loaded_code() noexcept;

}  // namespace restride::cuda
