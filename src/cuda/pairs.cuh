// Kernels over many pairs of memory: their pointers are parameters, and a block finds its pair by blockIdx.y.
#pragma once

#include <cstddef>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "src/cuda/dispatch.cuh"
#include "src/cuda/pairs.h"

namespace restride::cuda {

/// Parameters that hold pairs; the grid's second dimension says how many pairs there are.
template <std::size_t words>
struct Pairs {
  static constexpr std::size_t kBytes = words * 8;
  PairsForm form;
  union {
    std::uint64_t word[words];
    std::uint32_t half[2 * words];
  };

  __device__ void find(std::uint32_t pair, char** to, const char** from) const {
    if (form.bytes == 16) {
      *to = reinterpret_cast<char*>(word[2 * pair]);
      *from = reinterpret_cast<const char*>(word[2 * pair + 1]);
      return;
    }
    const std::uint64_t own = form.bytes == 8 ? word[pair] : half[pair];
    *to = reinterpret_cast<char*>(form.dst_address(own));
    *from = reinterpret_cast<const char*>(form.src_address(own));
  }
};

/// A launch copies all of its kernel's parameters, which costs the host 0.1 us a KB beyond 4 KB on an H100's. So there
/// are kernels for as many as every driver takes and for all that newer drivers take; dense rows and units that
/// are words have two between, for 1,000 pairs of 4 bytes and of 8.
template <class Args, std::size_t bytes>
using PairsWithin = Pairs<(bytes - sizeof(Args) - sizeof(PairsForm)) / 8>;
template <class Args>
using FewPairs = PairsWithin<Args, 4096>;
template <class Args>
using SomePairs = PairsWithin<Args, 5120>;
template <class Args>
using ManyPairs = PairsWithin<Args, 12288>;
template <class Args>
using MostPairs = PairsWithin<Args, 32760>;

template <class Args, class Memory>
using PairsKernel = void (*)(Args, Memory);

template <class Args, class Memory>
int enqueue_group(PairsKernel<Args, Memory> kernel, const Args& args, const PairsForm& form, const PairsLaunch& on,
                  std::size_t first, std::size_t count, unsigned blocks, unsigned threads,
                  unsigned shared_bytes) noexcept {
  Memory memory;
  memory.form = form;
  pack_pairs(form, on.pairs, first, count, memory.word);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks, static_cast<unsigned>(count));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = on.stream;
  void* params[] = {const_cast<Args*>(&args), &memory};
  return static_cast<int>(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), params));
}

/// Enqueues all pairs; kernel_of<Memory>() is the kernel for such parameters, `blocks` and `threads` are one pair's.
/// Sizes: of the parameters that there are kernels for, the smallest first; every driver takes that one.
template <class Smallest, class... Larger, class Args, class Kernels>
int enqueue_pairs(Kernels kernel_of, const Args& args, const PairsLaunch& on, unsigned blocks, unsigned threads,
                  unsigned shared_bytes = 0) noexcept {
  static_assert(sizeof(Args) % 8 == 0);
  const PairsForm form = form_of(on.pairs);
  const std::size_t largest = on.large_parameters ? std::max({Smallest::kBytes, Larger::kBytes...}) : Smallest::kBytes;
  for (std::size_t first = 0, count = 0; first < on.pairs.count; first += count) {
    count = std::min(on.pairs.count - first, largest / form.bytes);
    int status = cudaSuccess;
    const auto fits = [&]<class Memory>(std::type_identity<Memory>) {
      if (count * form.bytes > Memory::kBytes) return false;
      status = enqueue_group<Args, Memory>(kernel_of.template operator()<Memory>(), args, form, on, first, count,
                                           blocks, threads, shared_bytes);
      return true;
    };
    (void)(fits(std::type_identity<Smallest>()) || ... || fits(std::type_identity<Larger>()));
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace restride::cuda
