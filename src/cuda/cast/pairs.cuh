// Conversions whose pair of dtypes is known at run time: one kernel a pair of sizes, not of types.
#pragma once

#include <utility>

#include "src/cuda/cast/units.cuh"

namespace restride::cuda {

/// An operation that converts units of so many bytes; which dtypes they are, the arguments say.
template <int src_bytes, int dst_bytes>
struct Convert {
  static constexpr int kSrc = src_bytes, kDst = dst_bytes;
};

namespace detail {

template <int kDst, int kSrc, int pair, class F>
__device__ inline bool call_for_pair(int wanted, F&& f) {
  constexpr auto dst = static_cast<DType>(pair / kDTypeCount), src = static_cast<DType>(pair % kDTypeCount);
  if constexpr (size_bytes(dst) == kDst && size_bytes(src) == kSrc && dst != src && castable(dst, src)) {
    if (wanted == pair) {
      f.template operator()<base::Storage<dst>, base::Storage<src>>();
      return true;
    }
  }
  return false;
}

/// Calls `f.template operator()<dtype>()` for the one of `size` bytes that has the number `wanted`.
template <int size, class F>
__device__ inline void with_dtype(int wanted, F&& f) {
  const auto call = [&]<int number>() {
    constexpr auto dtype = static_cast<DType>(number);
    if constexpr (size_bytes(dtype) == size) {
      if (wanted == number) {
        f.template operator()<dtype>();
        return true;
      }
    }
    return false;
  };
  [&]<int... number>(std::integer_sequence<int, number...>) { (call.template operator()<number>() || ...); }
  (std::make_integer_sequence<int, kDTypeCount>{});
}

}  // namespace detail

/// Calls `f.template operator()<Dst, Src>()` for two dtypes known at run time, of kDst and kSrc bytes.
template <int kDst, int kSrc, class F>
__device__ inline void with_pair(int dst_dtype, int src_dtype, F&& f) {
  const int wanted = dst_dtype * kDTypeCount + src_dtype;
  [&]<int... pair>(std::integer_sequence<int, pair...>) { (detail::call_for_pair<kDst, kSrc, pair>(wanted, f) || ...); }
  (std::make_integer_sequence<int, kDTypeCount * kDTypeCount>{});
}

/// The same, one side after the other: for kernels whose words each ask anew.
template <int kDst, int kSrc, class F>
__device__ inline void with_each(int dst_dtype, int src_dtype, F&& f) {
  detail::with_dtype<kDst>(dst_dtype, [&]<DType dst>() {
    detail::with_dtype<kSrc>(src_dtype, [&]<DType src>() {
      if constexpr (dst != src && castable(dst, src)) f.template operator()<base::Storage<dst>, base::Storage<src>>();
    });
  });
}

/// The units of a 16-byte word of dst as they go there: moved, or converted between the two dtypes of `a`.
template <int kSrc, int kDst, bool kCast, class Args>
__device__ inline uint4 finish_word(const Args& a, const Bits<kSrc> (&in)[16 / kDst]) {
  if constexpr (kCast) {
    uint4 out;
    with_pair<kDst, kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() { out = convert_part<Dst, Src>(in); });
    return out;
  } else {
    return join<kDst, 16 / kDst>(in);
  }
}

/// Words of 4 / kSrc rows of dst, converted; in[j] holds the units that they take from row j of src.
template <int kSrc, int kDst, class Args>
__device__ inline void finish_block(const Args& a, const std::uint32_t (&in)[16 / kDst], uint4 (&out)[4 / kSrc]) {
  constexpr int kAcross = 4 / kSrc, kUnits = 16 / kDst;
  constexpr int kWords = (kUnits + kAcross - 1) / kAcross;
  std::uint32_t words[kAcross][kWords];
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    std::uint32_t block[kAcross] = {}, column[kAcross];
#pragma unroll
    for (int j = 0; j < kAcross && w * kAcross + j < kUnits; ++j) block[j] = in[w * kAcross + j];
    transpose_words<kSrc>(block, column);
#pragma unroll
    for (int i = 0; i < kAcross; ++i) words[i][w] = column[i];
  }
  with_pair<kDst, kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() {
#pragma unroll
    for (int i = 0; i < kAcross; ++i) out[i] = convert_words<Dst, Src, kUnits>(words[i]);
  });
}

}  // namespace restride::cuda
