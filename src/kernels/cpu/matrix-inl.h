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

/// At least 16 bytes of rows and of columns; from row to row of src it is from_pitch bytes.
struct Matrix {
  const std::uint8_t* from;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t from_pitch;
};

/// The blocks of rows [r, r + kRows) for vectors of up to kBytes. The last block of columns starts early rather than
/// short.
template <std::size_t kUnit, std::size_t kBytes, class Place, class Step>
HWY_INLINE void move_blocks(const Matrix& m, std::int64_t r, const Place& place, const Step& step) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  for (std::int64_t c = 0; c < m.cols; c += kCols) {
    const std::int64_t first = std::min(c, m.cols - kCols);
    B::transpose(m.from + r * m.from_pitch + first * kUnitBytes, m.from_pitch,
                 [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                   store(v, typename B::D(), place(first + static_cast<std::int64_t>(j)) + r * kUnitBytes);
                 });
    step(kCols * static_cast<std::int64_t>(B::kVectorBytes));
  }
}

/// Full vectors of rows, then what is left by the shortest that holds it, which starts early, too. place(c) is where
/// column c goes; step(bytes) is called between blocks with the bytes just written, in all at least the matrix's.
template <std::size_t kUnit, class Place, class Step>
HWY_INLINE void move_matrix(const Matrix& m, const Place& place, const Step& step) {
  constexpr auto kRows64 = static_cast<std::int64_t>(Block<kUnit, 64>::kRows);
  constexpr auto kRows32 = static_cast<std::int64_t>(Block<kUnit, 32>::kRows);
  constexpr auto kRows16 = static_cast<std::int64_t>(Block<kUnit, 16>::kRows);
  std::int64_t r = 0;
  if constexpr (kRows64 > kRows32) {
    for (; r + kRows64 <= m.rows; r += kRows64) move_blocks<kUnit, 64>(m, r, place, step);
    if (r == m.rows) return;
    if (m.rows >= kRows64 && m.rows - r > kRows32) return move_blocks<kUnit, 64>(m, m.rows - kRows64, place, step);
  }
  if constexpr (kRows32 > kRows16) {
    for (; r + kRows32 <= m.rows; r += kRows32) move_blocks<kUnit, 32>(m, r, place, step);
    if (r == m.rows) return;
    if (m.rows >= kRows32 && m.rows - r > kRows16) return move_blocks<kUnit, 32>(m, m.rows - kRows32, place, step);
  }
  for (; r < m.rows; r += kRows16) move_blocks<kUnit, 16>(m, std::min(r, m.rows - kRows16), place, step);
}

/// Tasks [begin, end), each of which is one such matrix.
template <std::size_t kUnit>
HWY_INLINE void move_matrices(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                              std::int64_t end) {
  const std::int64_t to_pitch = a.col_set.modes[0].dst_stride;
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end; ++task, at.next()) {
    std::uint8_t* to = dst + at.dst();
    move_matrix<kUnit>(
        {src + at.src(), a.rows, a.cols, a.row_set.modes[0].src_stride},
        [=](std::int64_t c) RESTRIDE_INLINE_LAMBDA { return to + c * to_pitch; },
        [](std::int64_t) RESTRIDE_INLINE_LAMBDA {});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
