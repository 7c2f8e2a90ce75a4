// The matrices of a task: one each, or bands of columns that are moved as one. Included once per instruction set.
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_MATRICES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_MATRICES_INL_H_
#undef RESTRIDE_CPU_TILE_MATRICES_INL_H_
#else
#define RESTRIDE_CPU_TILE_MATRICES_INL_H_
#endif

#include "src/cpu/tile/matrices.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Of units or of records. From row to row of src and from column to column of dst it is a pitch.
struct Matrix {
  std::uint8_t* to;
  const std::uint8_t* from;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t to_pitch;
  std::int64_t from_pitch;
};

/// move(m) for each matrix of the tasks. Bands side by side are moved as one, unless blocks follow columns of dst.
template <class Move>
HWY_INLINE void for_matrices(const MatrixArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
                             std::int64_t end, const Move& move) {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end;) {
    Matrix m{dst + at.dst(), src + at.src(), a.rows, a.cols, a.col_dst_stride, a.row_src_stride};
    ++task, at.next();
    if (a.last_cols != 0) {
      for (; !a.down_columns && task < end && at.index(0) != 0; ++task, at.next()) m.cols += a.cols;
      if (at.index(0) == 0) m.cols += a.last_cols - a.cols;
    }
    move(m);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
