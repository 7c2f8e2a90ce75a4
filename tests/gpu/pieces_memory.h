// Memory that the driver's own calls map, piece by piece, as ncclMemAlloc and growing allocators make it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <vector>

#include "tests/gpu/device_memory.h"

namespace restride::test {

/// A call of the driver's by its name: the tests are not linked to libcuda.
template <class F>
F* driver_call(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* call = library == nullptr ? nullptr : dlsym(library, name);
  if (call == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<F*>(call);
}
#define RESTRIDE_DRIVER_CALL(name) ::restride::test::driver_call<decltype(::name)>(#name)

/// On the current device, for kernels of all devices that reach it.
class PiecesBuffer {
 public:
  PiecesBuffer(std::size_t bytes, std::size_t pieces, bool is_shared = true) {
    RESTRIDE_CHECK_CUDA(cudaFree(nullptr));
    CUmemAllocationProp about{};
    about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    about.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    RESTRIDE_CHECK_CUDA(cudaGetDevice(&about.location.id));
    if (is_shared) about.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t unit = 0;
    check(RESTRIDE_DRIVER_CALL(cuMemGetAllocationGranularity)(&unit, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    piece_ = (bytes + pieces * unit - 1) / (pieces * unit) * unit;
    check(RESTRIDE_DRIVER_CALL(cuMemAddressReserve)(&start_, piece_ * pieces, 0, 0, 0));
    for (std::size_t i = 0; i < pieces; ++i) {
      CUmemGenericAllocationHandle handle = 0;
      check(RESTRIDE_DRIVER_CALL(cuMemCreate)(&handle, piece_, &about, 0));
      check(RESTRIDE_DRIVER_CALL(cuMemMap)(start_ + mapped_, piece_, 0, handle, 0));
      check(RESTRIDE_DRIVER_CALL(cuMemRelease)(handle));
      mapped_ += piece_;
    }
    int count = 0;
    RESTRIDE_CHECK_CUDA(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; ++device) {
      int reaches = device == about.location.id ? 1 : 0;
      if (reaches == 0) RESTRIDE_CHECK_CUDA(cudaDeviceCanAccessPeer(&reaches, device, about.location.id));
      const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      if (reaches != 0) check(RESTRIDE_DRIVER_CALL(cuMemSetAccess)(start_, mapped_, &access, 1));
    }
  }
  ~PiecesBuffer() {
    (void)cudaDeviceSynchronize();
    for (std::size_t at = 0; at < mapped_; at += piece_) RESTRIDE_DRIVER_CALL(cuMemUnmap)(start_ + at, piece_);
    RESTRIDE_DRIVER_CALL(cuMemAddressFree)(start_, mapped_);
  }
  PiecesBuffer(const PiecesBuffer&) = delete;
  PiecesBuffer& operator=(const PiecesBuffer&) = delete;

  std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(start_); }
  std::size_t piece() const noexcept { return piece_; }

 private:
  static void check(CUresult rc) {
    if (rc != CUDA_SUCCESS) throw std::runtime_error("a call of the driver failed: " + std::to_string(rc));
  }
  CUdeviceptr start_ = 0;
  std::size_t piece_ = 0, mapped_ = 0;
};

}  // namespace restride::test
