// Small matrices, straight from src to dst: nothing staged, nothing tabled. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_MATRIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_MATRIX_INL_H_
#undef RESTRIDE_KERNELS_CPU_MATRIX_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_MATRIX_INL_H_
#endif

#include "src/cpu/args.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// At least 16 bytes of rows and of columns; from row to row of src and from column to column of dst it is a pitch.
struct Matrix {
  std::uint8_t* to;
  const std::uint8_t* from;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t to_pitch;
  std::int64_t from_pitch;
};

/// The blocks of rows [r, r + kRows) for vectors of up to kBytes. The last block of columns starts early rather than
/// short.
template <std::size_t kUnit, std::size_t kBytes>
HWY_INLINE void move_blocks(const Matrix& m, std::int64_t r) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  for (std::int64_t c = 0; c < m.cols; c += kCols) {
    const std::int64_t first = std::min(c, m.cols - kCols);
    B::transpose(m.from + r * m.from_pitch + first * kUnitBytes, m.from_pitch,
                 [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                   store(v, typename B::D(),
                         m.to + (first + static_cast<std::int64_t>(j)) * m.to_pitch + r * kUnitBytes);
                 });
  }
}

/// Tasks [begin, end), each of which is one such matrix, or a band of its columns; bands side by side are moved as one.
template <std::size_t kUnit>
HWY_INLINE void move_matrices(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                              std::int64_t end) {
  const std::int64_t to_pitch = a.col_set.modes[0].dst_stride;
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end;) {
    Matrix m{dst + at.dst(), src + at.src(), a.rows, a.cols, to_pitch, a.row_set.modes[0].src_stride};
    ++task, at.next();
    if (a.last_units != 0) {
      for (; task < end && at.index(0) != 0; ++task, at.next()) m.cols += a.cols;
      if (at.index(0) == 0) m.cols += a.last_units - a.cols;
    }
    for_row_blocks<kUnit>(m.rows, [&](auto bytes, std::int64_t r)
                                      RESTRIDE_INLINE_LAMBDA { move_blocks<kUnit, decltype(bytes)::value>(m, r); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
