// The few entry points of the CUDA driver that restride calls by itself, found at run time; the lab's too.
//
// Why not the runtime: cudaPointerGetAttributes makes a context on first use, hundreds of megabytes that a process
// which only copies host memory never asked for, and its failures replace the caller's last error. cudaSetDevice makes
// one, too. The driver's own calls do neither, and answer "not initialised" in nanoseconds as long as nobody uses CUDA.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>

namespace restride::cuda {

/// The driver gives addresses as numbers.
inline void* pointer_to(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct Driver {
  CUresult (*pointer_attributes)(unsigned count, CUpointer_attribute* which, void** data,
                                 CUdeviceptr pointer) = nullptr;
  CUresult (*stream_device)(CUstream stream, CUdevice* device) = nullptr;  ///< null before 12.8
  CUresult (*stream_is_capturing)(CUstream stream, CUstreamCaptureStatus* status) = nullptr;
  CUresult (*context_device)(CUdevice* device) = nullptr;
  CUresult (*primary_retain)(CUcontext* context, CUdevice device) = nullptr;
  CUresult (*primary_release)(CUdevice device) = nullptr;
  CUresult (*primary_state)(CUdevice device, unsigned* flags, int* active) = nullptr;
  CUresult (*push_context)(CUcontext context) = nullptr;
  CUresult (*pop_context)(CUcontext* context) = nullptr;
  /// Memory mapped by the driver's own calls.
  struct Pieces {
    CUresult (*retain)(CUmemGenericAllocationHandle* handle, void* pointer) = nullptr;
    CUresult (*export_handle)(void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                              unsigned long long flags) = nullptr;
    CUresult (*import_handle)(CUmemGenericAllocationHandle* handle, void* shared,
                              CUmemAllocationHandleType type) = nullptr;
    CUresult (*release)(CUmemGenericAllocationHandle handle) = nullptr;
    CUresult (*reserve)(CUdeviceptr* start, std::size_t bytes, std::size_t alignment, CUdeviceptr wish,
                        unsigned long long flags) = nullptr;
    CUresult (*free_address)(CUdeviceptr start, std::size_t bytes) = nullptr;
    CUresult (*map)(CUdeviceptr start, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags) = nullptr;
    CUresult (*unmap)(CUdeviceptr start, std::size_t bytes) = nullptr;
    CUresult (*set_access)(CUdeviceptr start, std::size_t bytes, const CUmemAccessDesc* access,
                           std::size_t count) = nullptr;
    bool is_complete() const noexcept {
      return retain != nullptr && export_handle != nullptr && import_handle != nullptr && release != nullptr &&
             reserve != nullptr && free_address != nullptr && map != nullptr && unmap != nullptr &&
             set_access != nullptr;
    }
  } pieces;
#if CUDA_VERSION >= 12050  // null before a driver of 12.5
  CUresult (*device_resource)(CUdevice device, CUdevResource* resource, CUdevResourceType type) = nullptr;
  CUresult (*split_multiprocessors)(CUdevResource* parts, unsigned* count, const CUdevResource* all,
                                    CUdevResource* rest, unsigned flags, unsigned least) = nullptr;
  CUresult (*describe_resources)(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) = nullptr;
  CUresult (*make_green_context)(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device,
                                 unsigned flags) = nullptr;
  CUresult (*destroy_green_context)(CUgreenCtx context) = nullptr;
  CUresult (*make_green_stream)(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) = nullptr;
#endif
  void* tensor_map_encode = nullptr;  ///< cuTensorMapEncodeTiled, handed on to the kernels that need it
  const char* missing = nullptr;      ///< what dlopen said; null when the driver is there
};

namespace detail {

inline Driver load_driver() noexcept {
  Driver d;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    d.missing = "libcuda.so.1 was not found: no NVIDIA driver is installed, or the container was started without it";
    return d;
  }
  const auto find = [library]<class F>(const char* symbol, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library, symbol));
  };
  find("cuPointerGetAttributes", d.pointer_attributes);
  find("cuStreamGetDevice", d.stream_device);
  find("cuStreamIsCapturing", d.stream_is_capturing);
  find("cuCtxGetDevice", d.context_device);
  find("cuDevicePrimaryCtxRetain", d.primary_retain);
  find("cuDevicePrimaryCtxRelease_v2", d.primary_release);
  find("cuDevicePrimaryCtxGetState", d.primary_state);
  find("cuCtxPushCurrent_v2", d.push_context);
  find("cuCtxPopCurrent_v2", d.pop_context);
  find("cuMemRetainAllocationHandle", d.pieces.retain);
  find("cuMemExportToShareableHandle", d.pieces.export_handle);
  find("cuMemImportFromShareableHandle", d.pieces.import_handle);
  find("cuMemRelease", d.pieces.release);
  find("cuMemAddressReserve", d.pieces.reserve);
  find("cuMemAddressFree", d.pieces.free_address);
  find("cuMemMap", d.pieces.map);
  find("cuMemUnmap", d.pieces.unmap);
  find("cuMemSetAccess", d.pieces.set_access);
#if CUDA_VERSION >= 12050
  find("cuDeviceGetDevResource", d.device_resource);
  find("cuDevSmResourceSplitByCount", d.split_multiprocessors);
  find("cuDevResourceGenerateDesc", d.describe_resources);
  find("cuGreenCtxCreate", d.make_green_context);
  find("cuGreenCtxDestroy", d.destroy_green_context);
  find("cuGreenCtxStreamCreate", d.make_green_stream);
#endif
  d.tensor_map_encode = dlsym(library, "cuTensorMapEncodeTiled");
  return d;
}

}  // namespace detail

/// Loaded on the first call and kept.
inline const Driver& driver() noexcept {
  static const Driver instance = detail::load_driver();
  return instance;
}

}  // namespace restride::cuda
