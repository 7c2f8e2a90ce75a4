// Kernels over many pairs of memory: their pointers are parameters, and a block finds its pair by blockIdx.y.
#pragma once

#include <cstddef>

#include <algorithm>

#include "src/cuda/dispatch.cuh"
#include "src/cuda/pairs.h"

namespace restride::cuda {

/// So many pairs at most; the grid's second dimension says how many there are.
template <std::size_t pairs>
struct Pairs {
  static constexpr std::size_t kMost = pairs;
  char* dst[kMost];
  const char* src[kMost];
};

/// A kernel's parameters are copied whole, so there is one for few pairs, and one for as many as 32,764 bytes hold.
using FewPairs = Pairs<128>;
template <class Args>
using MostPairs = Pairs<(32764 - (sizeof(Args) + 7) / 8 * 8) / (2 * sizeof(char*))>;

template <class Args, class Memory>
using PairsKernel = void (*)(Args, Memory);

template <class Args, class Memory>
int enqueue_group(PairsKernel<Args, Memory> kernel, const Args& args, const PairsLaunch& on, std::size_t first,
                  std::size_t count, unsigned blocks, unsigned threads, unsigned shared_bytes) noexcept {
  Memory memory;
  for (std::size_t i = 0; i < count; ++i) {
    memory.dst[i] = static_cast<char*>(on.dst[first + i]);
    memory.src[i] = static_cast<const char*>(on.src[first + i]);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks, static_cast<unsigned>(count));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = on.stream;
  void* params[] = {const_cast<Args*>(&args), &memory};
  return static_cast<int>(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), params));
}

/// Enqueues all pairs; `blocks` and `threads` are one pair's.
template <class Args>
int enqueue_pairs(PairsKernel<Args, FewPairs> few, PairsKernel<Args, MostPairs<Args>> most, const Args& args,
                  const PairsLaunch& on, unsigned blocks, unsigned threads, unsigned shared_bytes = 0) noexcept {
  for (std::size_t first = 0, count = 0; first < on.count; first += count) {
    const std::size_t left = on.count - first;
    int status = cudaSuccess;
    if (on.large_parameters && left > FewPairs::kMost) {
      count = std::min(left, MostPairs<Args>::kMost);
      status = enqueue_group(most, args, on, first, count, blocks, threads, shared_bytes);
    } else {
      count = std::min(left, FewPairs::kMost);
      status = enqueue_group(few, args, on, first, count, blocks, threads, shared_bytes);
    }
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace restride::cuda
