// Words that start anywhere, from the aligned ones that hold them.
#pragma once

#include "src/cuda/device.cuh"

namespace restride::cuda {

/// The 16 bytes that start `shift` bytes into the 32 of (low, high).
__device__ inline uint4 shifted(const uint4& low, const uint4& high, int shift) {
  const bool by8 = (shift & 8) != 0, by4 = (shift & 4) != 0;
  const std::uint32_t a0 = by8 ? low.z : low.x, a1 = by8 ? low.w : low.y, a2 = by8 ? high.x : low.z;
  const std::uint32_t a3 = by8 ? high.y : low.w, a4 = by8 ? high.z : high.x, a5 = by8 ? high.w : high.y;
  const std::uint32_t b0 = by4 ? a1 : a0, b1 = by4 ? a2 : a1, b2 = by4 ? a3 : a2, b3 = by4 ? a4 : a3;
  const std::uint32_t b4 = by4 ? a5 : a4;
  const int bits = (shift & 3) * 8;
  return make_uint4(__funnelshift_r(b0, b1, bits), __funnelshift_r(b1, b2, bits), __funnelshift_r(b2, b3, bits),
                    __funnelshift_r(b3, b4, bits));
}

}  // namespace restride::cuda
