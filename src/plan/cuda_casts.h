// The dtype pairs that the CUDA families convert at full speed; gather converts every pair.
#pragma once

#include <restride/dtype.hpp>

// X(dst, src): enumerators of DType.
#define RESTRIDE_CUDA_CASTS(X) \
  X(kF16, kF32)                \
  X(kBF16, kF32)               \
  X(kF8E4M3, kF32)             \
  X(kF8E5M2, kF32)             \
  X(kU8, kF32)                 \
  X(kI32, kF32)                \
  X(kF64, kF32)                \
  X(kF32, kF16)                \
  X(kF32, kBF16)               \
  X(kF32, kF8E4M3)             \
  X(kF32, kF8E5M2)             \
  X(kF32, kU8) X(kF32, kI32) X(kF32, kF64) X(kBF16, kF16) X(kF16, kBF16) X(kF16, kU8) X(kI32, kI64) X(kI64, kI32)

namespace restride::plan {

/// True when rows, tile and packed have kernels for the pair.
constexpr bool has_cuda_cast(DType dst, DType src) noexcept {
#define RESTRIDE_X(d, s) \
  if (dst == DType::d && src == DType::s) return true;
  RESTRIDE_CUDA_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
  return false;
}

}  // namespace restride::plan
