// Kernels over many pairs of memory: their pointers are parameters, and a block finds its pair by blockIdx.y.
#pragma once

#include <cstddef>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/cuda/dispatch.cuh"
#include "src/cuda/pairs.h"

namespace restride::cuda {

/// One side's pointers: what all have in common, and the neighbouring bits of which each has its own.
struct PairsSide {
  std::uint64_t common = 0;
  std::uint32_t low = 0, bits = 0;

  __device__ char* pointer(std::uint64_t own) const { return reinterpret_cast<char*>(common | own << low); }
  std::uint64_t own(const void* pointer) const noexcept {
    return reinterpret_cast<std::uint64_t>(pointer) >> low & ((std::uint64_t{1} << bits) - 1);
  }
  /// True where all of these bits lie below a pointer's bit 31: `low_own` takes them from its low half.
  bool is_low() const noexcept { return low + bits < 32; }
  std::uint32_t low_own(const void* pointer) const noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(pointer)) >> low & ((1u << bits) - 1);
  }
};

/// How parameters hold the pairs of a launch.
struct PairsForm {
  PairsSide dst, src;
  std::uint32_t bytes = 16;  ///< of a pair: 4 or 8 where its own bits fit, dst's lowest; else two pointers
};

/// Those parameters; the grid's second dimension says how many pairs there are.
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
    *to = form.dst.pointer(own & ((std::uint64_t{1} << form.dst.bits) - 1));
    *from = form.src.pointer(own >> form.dst.bits);
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

inline PairsSide side_of(const void* pointer, std::uint64_t unlike) noexcept {
  if (unlike == 0) return {reinterpret_cast<std::uint64_t>(pointer), 0, 0};
  PairsSide side;
  side.low = static_cast<std::uint32_t>(std::countr_zero(unlike));
  side.bits = static_cast<std::uint32_t>(std::bit_width(unlike)) - side.low;
  if (side.bits < 64)
    side.common = reinterpret_cast<std::uint64_t>(pointer) & ~(((std::uint64_t{1} << side.bits) - 1) << side.low);
  return side;
}

inline PairsForm form_of(const PointerPairs& pairs) noexcept {
  PairsForm form{side_of(pairs.dst[0], pairs.dst_unlike), side_of(pairs.src[0], pairs.src_unlike)};
  const std::uint32_t bits = form.dst.bits + form.src.bits;
  form.bytes = bits <= 32 ? 4 : bits < 64 ? 8 : 16;
  return form;
}

template <class Args, class Memory>
int enqueue_group(PairsKernel<Args, Memory> kernel, const Args& args, const PairsForm& form, const PairsLaunch& on,
                  std::size_t first, std::size_t count, unsigned blocks, unsigned threads,
                  unsigned shared_bytes) noexcept {
  Memory memory;
  memory.form = form;
  void* const* const dst = on.pairs.dst + first;
  const void* const* const src = on.pairs.src + first;
  const auto fill = [&](auto& own) {
    using Own = std::remove_reference_t<decltype(own[0])>;
    for (std::size_t i = 0; i < count; ++i)
      own[i] = static_cast<Own>(form.dst.own(dst[i]) | form.src.own(src[i]) << form.dst.bits);
  };
  if (form.bytes == 4 && form.dst.is_low() && form.src.is_low())  // twice as many in a vector
    for (std::size_t i = 0; i < count; ++i)
      memory.half[i] = form.dst.low_own(dst[i]) | form.src.low_own(src[i]) << form.dst.bits;
  else if (form.bytes == 4)
    fill(memory.half);
  else if (form.bytes == 8)
    fill(memory.word);
  else
    for (std::size_t i = 0; i < count; ++i) {
      memory.word[2 * i] = reinterpret_cast<std::uint64_t>(dst[i]);
      memory.word[2 * i + 1] = reinterpret_cast<std::uint64_t>(src[i]);
    }
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
