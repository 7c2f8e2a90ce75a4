// The index map of the gather family: unit number -> byte offsets, for every layout there is.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kMaxGather = 128;
inline constexpr int kGatherThreads = 256;  ///< of a block

/// Modes of one walk, innermost first. Sides that share no modes have two walks over the same unit numbers, one behind
/// the other: dst in [0, rank), src in [rank, rank + src_rank).
struct GatherArgs {
  std::int64_t units = 0;
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int32_t rank = 0;
  std::int32_t src_rank = 0;  ///< 0: one walk for both sides
  std::uint32_t blocks = 0;
  std::uint8_t src_dtype = 0, dst_dtype = 0;
  std::uint8_t index_bits = 64;  ///< 32 where every unit number is below 2^31
  base::FastDiv64 extent[kMaxGather];
  std::int64_t stride[kMaxGather] = {};      ///< of dst, and of src in the second walk
  std::int64_t src_stride[kMaxGather] = {};  ///< with one walk
};

/// Index is std::uint32_t where all unit numbers are below 2^31, else std::uint64_t.
template <class Index>
RESTRIDE_HD constexpr Offsets gather_offsets(const GatherArgs& a, Index unit) {
  Offsets at{a.dst_offset, a.src_offset};
  const auto split = [](const base::FastDiv64& extent, Index& n) {
    const Index rest = sizeof(Index) == 4 ? static_cast<Index>(n / static_cast<Index>(extent.divisor))
                                          : static_cast<Index>(extent.quotient(n));
    const Index digit = n - rest * static_cast<Index>(extent.divisor);
    n = rest;
    return static_cast<std::int64_t>(digit);
  };
  Index n = unit;
  for (int m = 0; m < a.rank; ++m) {
    const std::int64_t digit = m + 1 < a.rank ? split(a.extent[m], n) : static_cast<std::int64_t>(n);
    at.dst += digit * a.stride[m];
    if (a.src_rank == 0) at.src += digit * a.src_stride[m];
  }
  n = unit;
  for (int m = a.rank; m < a.rank + a.src_rank; ++m) {
    const std::int64_t digit = m + 1 < a.rank + a.src_rank ? split(a.extent[m], n) : static_cast<std::int64_t>(n);
    at.src += digit * a.stride[m];
  }
  return at;
}

}  // namespace restride::cuda
