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

#include "src/kernels/cpu/args.h"
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

/// At least 16 bytes of rows and of columns. Pitches in bytes: of src from row to row, of dst from column to column.
struct Matrix {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t from_pitch;
  std::int64_t to_pitch;
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
    std::uint8_t* to = m.to + first * m.to_pitch + r * kUnitBytes;
    B::transpose(m.from + r * m.from_pitch + first * kUnitBytes, m.from_pitch,
                 [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                   store(v, typename B::D(), to + static_cast<std::int64_t>(j) * m.to_pitch);
                 });
  }
}

/// Full vectors of rows, then what is left by the shortest that holds it, which starts early, too.
template <std::size_t kUnit>
HWY_INLINE void move_matrix(const Matrix& m) {
  constexpr auto kRows64 = static_cast<std::int64_t>(Block<kUnit, 64>::kRows);
  constexpr auto kRows32 = static_cast<std::int64_t>(Block<kUnit, 32>::kRows);
  constexpr auto kRows16 = static_cast<std::int64_t>(Block<kUnit, 16>::kRows);
  std::int64_t r = 0;
  for (; r + kRows64 <= m.rows; r += kRows64) move_blocks<kUnit, 64>(m, r);
  if (r == m.rows) return;
  if (m.rows >= kRows64 && m.rows - r > kRows32) return move_blocks<kUnit, 64>(m, m.rows - kRows64);
  for (; r + kRows32 <= m.rows; r += kRows32) move_blocks<kUnit, 32>(m, r);
  if (r == m.rows) return;
  if (m.rows >= kRows32 && m.rows - r > kRows16) return move_blocks<kUnit, 32>(m, m.rows - kRows32);
  for (; r < m.rows; r += kRows16) move_blocks<kUnit, 16>(m, std::min(r, m.rows - kRows16));
}

/// Tasks [begin, end), each of which is one such matrix.
template <std::size_t kUnit>
HWY_INLINE void move_matrices(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                              std::int64_t end) {
  Matrix m{src, dst, a.rows, a.cols, a.row_set.modes[0].src_stride, a.col_set.modes[0].dst_stride};
  if (a.nest.rank == 0) return move_matrix<kUnit>(m);
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end; ++task, at.next()) {
    m.from = src + at.src();
    m.to = dst + at.dst();
    move_matrix<kUnit>(m);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
