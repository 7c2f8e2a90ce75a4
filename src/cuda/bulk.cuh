// Hopper's bulk copies: the few instructions that kernels need. sm_90 and later; nothing below, so that a kernel by
// bulk copies may be launched only where its loaded code has them (loaded_code.h).
//
// A barrier in shared memory counts the bytes that have yet to arrive. One thread announces them and starts the copies;
// all wait for the barrier's phase, a bit that flips when the count reaches zero.
#pragma once

#include "src/cuda/device.cuh"
#include "src/cuda/runtime/loaded_code.h"

namespace restride::cuda {

/// The architecture that a kernel was compiled for, as it is loaded on the current device: 90 for code of sm_90 and for
/// PTX of compute_90. What it was finished for (binaryVersion) is the device's own, also where the PTX is older.
inline int compiled_for(const void* kernel) noexcept {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess ? attributes.ptxVersion : 0;
}

/// Before anybody uses the barrier; a block barrier must follow.
__device__ inline void init_arrival(std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  // The copy engine sees shared memory through another proxy than the threads' own stores.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ inline void expect_bytes(std::uint32_t barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}

__device__ inline void wait_arrival(std::uint32_t barrier, unsigned phase) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(phase)
      : "memory");
#endif
}

/// `bytes` of global into shared memory, both ends on 16 bytes, which `barrier` counts.
__device__ inline void copy_in(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#endif
}

/// `bytes` of shared into global memory, both ends on 16 bytes. All threads' stores into them must be shown to the copy
/// engine first (show_stores, then a block barrier).
__device__ inline void copy_out(void* to, std::uint32_t from, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
__device__ inline void show_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Until shared memory that this thread copies out has been read.
__device__ inline void wait_read() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

/// One box of a tensor of five modes, coordinates innermost first; what lies outside the tensor arrives as zeros. L2
/// gives it up last (kept_policy in device.cuh).
__device__ inline void copy_box(std::uint32_t to, const void* tensor_map, const int (&at)[5], std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(to),
      "l"(tensor_map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(barrier), "l"(kept_policy())
      : "memory");
#endif
}

}  // namespace restride::cuda
