// The few entry points of the CUDA driver that restride calls by itself, found at run time.
//
// Why not the runtime: cudaPointerGetAttributes makes a context on first use, hundreds of megabytes that a process
// which only copies host memory never asked for, and its failures replace the caller's last error. The driver's own
// calls do neither, and answer "not initialised" in nanoseconds as long as nobody uses CUDA.
#pragma once

#include <cuda.h>

namespace restride::launch {

struct Driver {
  CUresult (*pointer_attributes)(unsigned count, CUpointer_attribute* which, void** data,
                                 CUdeviceptr pointer) = nullptr;
  CUresult (*stream_device)(CUstream stream, CUdevice* device) = nullptr;  ///< null before 12.8
  CUresult (*stream_is_capturing)(CUstream stream, CUstreamCaptureStatus* status) = nullptr;
  void* tensor_map_encode =
      nullptr;                    ///< cuTensorMapEncodeTiled, handed on to the kernel that needs it; null before 12.0
  const char* missing = nullptr;  ///< what dlopen said; null when the driver is there
};

/// Loaded on the first call and kept.
const Driver& driver() noexcept;

}  // namespace restride::launch
