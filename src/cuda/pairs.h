// A prepared launch over many pairs of memory: what Plan::run_many makes of a plan, and how a kernel's parameters hold
// the pairs. Host only but for what is marked: no CUDA headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/hd.h"
#include "src/cuda/launch.h"

namespace restride::cuda {

/// What pointers have in common.
struct PointerBits {
  std::uint64_t any = 0, all = ~std::uint64_t{0};  ///< bits that are set in some, and in all

  void add(const void* data) noexcept {
    any |= reinterpret_cast<std::uint64_t>(data);
    all &= reinterpret_cast<std::uint64_t>(data);
  }
  /// True only where all are memory of this alignment, a power of two. Where one is null, no bit is set in all.
  bool fits(std::int64_t align) const noexcept {
    return all != 0 && (any & static_cast<std::uint64_t>(align - 1)) == 0;
  }
  std::uint64_t unlike() const noexcept { return any & ~all; }
};

/// Of all these pointers, of one or more. By the widest vectors; 1,000 take 50 ns on a Zen 4.
PointerBits bits_of(const void* const* pointers, std::size_t count) noexcept;

/// `count` pairs of data pointers; no bits but `dst_unlike` differ in any of dst's, and in src's the same.
struct PointerPairs {
  void* const* dst = nullptr;
  const void* const* src = nullptr;
  std::size_t count = 0;
  std::uint64_t dst_unlike = ~std::uint64_t{0}, src_unlike = ~std::uint64_t{0};
};

/// One side's pointers: what all have in common, and the neighbouring bits of which each has its own.
struct PairsSide {
  std::uint64_t common = 0;  ///< 0 in a pointer's own bits
  std::uint32_t low = 0, bits = 0;

  RESTRIDE_HD std::uint64_t address(std::uint64_t own) const { return common | own << low; }
  std::uint64_t own(const void* pointer) const noexcept {
    return (reinterpret_cast<std::uint64_t>(pointer) ^ common) >> low;
  }
  /// True where all of these bits lie below a pointer's bit 31: they are in its low half.
  bool is_low() const noexcept { return low + bits < 32; }
};

/// How parameters hold the pairs of a launch.
struct PairsForm {
  PairsSide dst, src;
  std::uint32_t bytes = 16;  ///< of a pair: 4 or 8 where its own bits fit, dst's lowest; else two pointers

  /// Of a pair of 4 or 8 bytes.
  RESTRIDE_HD std::uint64_t dst_address(std::uint64_t own) const {
    return dst.address(own & ((std::uint64_t{1} << dst.bits) - 1));
  }
  RESTRIDE_HD std::uint64_t src_address(std::uint64_t own) const { return src.address(own >> dst.bits); }
};

/// The smallest one.
PairsForm form_of(const PointerPairs& pairs) noexcept;

/// Writes pairs [first, first + count) as `form` has them, one behind the other.
void pack_pairs(const PairsForm& form, const PointerPairs& pairs, std::size_t first, std::size_t count,
                std::uint64_t* words) noexcept;

/// Where such launches run: pairs of memory on the current device. `large_parameters`: the driver takes parameters of
/// 32,764 bytes (12.1 and newer), not only of 4,096.
struct PairsLaunch {
  PointerPairs pairs;
  CUstream_st* stream = nullptr;
  bool large_parameters = false;
};

/// As a Launcher, for all pairs, by as few launches as the parameters of a kernel allow.
/// kOneByOne, and nothing enqueued, where the plan's arguments have no kernel for pairs.
using PairsLauncher = int(const CudaArgs& args, const PairsLaunch& on) noexcept;

inline constexpr int kOneByOne = -1;  ///< no cudaError_t

PairsLauncher launch_rows_words_pairs;

}  // namespace restride::cuda
