// Casts of elements in memory: docs/casts.md says what becomes of a value, base/convert.h holds it in code.
//
// Kernels that cast fetch one of these functions when a plan is made and call it on pieces that lie in L1.
// The bits are base::convert's on every instruction set.
#pragma once

#include <cstddef>

#include <restride/dtype.hpp>

namespace restride::cpu {

/// Casts n elements that are contiguous on both sides. Any alignment, any n; dst and src do not overlap.
using CastRun = void (*)(void* dst, const void* src, std::size_t n);

/// Casts n elements whose neighbours lie `dst_stride` and `src_stride` bytes apart (any value, 0 in src repeats).
using CastStrided = void (*)(void* dst, std::ptrdiff_t dst_stride, const void* src, std::ptrdiff_t src_stride,
                             std::size_t n);

/// The contiguous cast for the instruction set in use; null where `castable` refuses the pair.
/// Vectorised for every pair on an instruction set that has vectors. with_bf16: by the instructions that round to bf16,
/// too, where there are some; tests do without to see the other way.
CastRun cast_run(DType dst, DType src, bool with_bf16 = true) noexcept;

/// The strided cast, one element at a time; null where `castable` refuses the pair.
CastStrided cast_strided(DType dst, DType src) noexcept;

}  // namespace restride::cpu
