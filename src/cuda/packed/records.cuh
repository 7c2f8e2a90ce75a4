// The transposition of a thread's records and planes in registers: byte permutes fixed at compile time.
#pragma once

#include <cstdint>

#include "src/cuda/device.cuh"

namespace restride::cuda {

/// out word w = the bytes `from(4 w + b)` of `in`, b = 0 .. 3; units never straddle words.
template <int kUnit, int kWords, class From>
__device__ inline void permute(const std::uint32_t (&in)[kWords], std::uint32_t (&out)[kWords], From from) {
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const int at0 = from(4 * w), at2 = from(4 * w + 2);
    if constexpr (kUnit >= 4) {
      out[w] = in[at0 / 4];
    } else if constexpr (kUnit == 2) {
      out[w] = __byte_perm(in[at0 / 4], in[at2 / 4], (at0 % 4 == 0 ? 0x10 : 0x32) | (at2 % 4 == 0 ? 0x5400 : 0x7600));
    } else {
      const int at1 = from(4 * w + 1), at3 = from(4 * w + 3);
      const std::uint32_t low = __byte_perm(in[at0 / 4], in[at1 / 4], (at0 % 4) | (4 + at1 % 4) << 4);
      const std::uint32_t high = __byte_perm(in[at2 / 4], in[at3 / 4], (at2 % 4) | (4 + at3 % 4) << 4);
      out[w] = __byte_perm(low, high, 0x5410);
    }
  }
}

/// The words of a thread as registers, and back.
template <int kWord, int kCount>
__device__ inline void unpack(const Bits<kWord> (&words)[kCount], std::uint32_t (&out)[kCount * kWord / 4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    std::uint32_t word[kWord / 4];
    split<4, kWord / 4>(words[i], word);
#pragma unroll
    for (int j = 0; j < kWord / 4; ++j) out[i * (kWord / 4) + j] = word[j];
  }
}
template <int kWord, int kCount>
__device__ inline void pack(const std::uint32_t (&in)[kCount * kWord / 4], Bits<kWord> (&words)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    std::uint32_t word[kWord / 4];
#pragma unroll
    for (int j = 0; j < kWord / 4; ++j) word[j] = in[i * (kWord / 4) + j];
    words[i] = join<4, kWord / 4>(word);
  }
}

}  // namespace restride::cuda
