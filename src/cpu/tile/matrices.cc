#include "src/cpu/tile/matrices.h"

#include <algorithm>

#include "src/cpu/records.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tile/matrices.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

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

/// move(m) for each matrix of the tasks. Bands side by side are moved as one.
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
      for (; task < end && at.index(0) != 0; ++task, at.next()) m.cols += a.cols;
      if (at.index(0) == 0) m.cols += a.last_cols - a.cols;
    }
    move(m);
  }
}

template <std::size_t kUnit>
void matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
              std::int64_t end) noexcept {
  for_matrices(a, dst, src, begin, end, [](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    for_row_blocks<kUnit>(m.rows, [&](auto bytes, std::int64_t r)
                                      RESTRIDE_INLINE_LAMBDA { move_blocks<kUnit, decltype(bytes)::value>(m, r); });
  });
}

/// A block's vectors reach past its records, into rows of the column that follow later, and read past its cells. So
/// blocks at the end of columns leave by way of `ends`, and blocks at the end of rows are read from `cells`.
template <class Records>
void record_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                     std::int64_t end) noexcept {
  constexpr std::int64_t kRows = Records::kRows, kCols = Records::kCols;
  constexpr std::int64_t kEnd = 5 * kMaxRecordBytes, kCells = 5 * kMaxCellBytes;  // four and what is beyond
  alignas(64) std::uint8_t ends[kCols * kEnd];
  alignas(64) std::uint8_t cells[kRows * kCells] = {};
  const Records records(a.record);
  const std::int64_t record = a.record.bytes, cell = a.record.cell_bytes;
  const std::int64_t block_bytes = kRows * record, block_cells = (kCols - 1) * cell + record;
  for_matrices(a, dst, src, begin, end, [&](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    const std::int64_t row_bytes = (m.cols - 1) * cell + record;
    for (std::int64_t r = 0; r < m.rows; r += kRows) {
      const std::int64_t row = std::min(r, m.rows - kRows);
      const bool last = (row + kRows) * record + records.spill_bytes() > m.rows * record;
      for (std::int64_t c = 0; c < m.cols; c += kCols) {
        const std::int64_t col = std::min(c, m.cols - kCols);
        std::uint8_t* const column = m.to + col * m.to_pitch + row * record;
        const std::uint8_t* from = m.from + row * m.from_pitch + col * cell;
        std::int64_t from_pitch = m.from_pitch;
        if (HWY_UNLIKELY(col * cell + records.read_bytes() > row_bytes)) {
          for (std::int64_t i = 0; i < kRows; ++i)
            copy_bytes(cells + i * kCells, from + i * from_pitch, static_cast<std::size_t>(block_cells));
          from = cells;
          from_pitch = kCells;
        }
        std::uint8_t* const to = last ? ends : column;
        const std::int64_t to_pitch = last ? kEnd : m.to_pitch;
        records.move([=](std::int64_t i) RESTRIDE_INLINE_LAMBDA { return from + i * from_pitch; },
                     [=](std::size_t k)
                         RESTRIDE_INLINE_LAMBDA { return to + static_cast<std::int64_t>(k) * to_pitch; });
        for (std::int64_t k = 0; last && k < kCols; ++k)
          copy_bytes(column + k * m.to_pitch, ends + k * kEnd, static_cast<std::size_t>(block_bytes));
      }
    }
  });
}

}  // namespace

KernelCode<MatrixArgs> pick_record_matrices(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed) {
#if HWY_TARGET == HWY_SCALAR
  (void)cell_bytes;
  if (reversed) return record_matrices<ReversedRecords>;
#else
  (void)reversed;
  if (record_bytes <= 4 && cell_bytes <= 4) return record_matrices<UnitRecords<4>>;
  if (record_bytes <= 8 && cell_bytes <= 8) return record_matrices<UnitRecords<8>>;
#endif
  if (record_bytes <= 16) return record_matrices<LongRecords<1>>;
  if (record_bytes <= 32) return record_matrices<LongRecords<2>>;
  return record_matrices<LongRecords<4>>;
}

KernelCode<MatrixArgs> pick_matrices(int unit) {
  switch (unit) {
    case 1: return matrices<1>;
    case 2: return matrices<2>;
    case 4: return matrices<4>;
    case 8: return matrices<8>;
    default: return matrices<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_matrices);
HWY_EXPORT(pick_record_matrices);
KernelCode<MatrixArgs> record_matrices_kernel(std::int64_t record_bytes, std::int64_t cell_bytes,
                                              bool reversed) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_record_matrices)(record_bytes, cell_bytes, reversed);
}
KernelCode<MatrixArgs> matrices_kernel(int unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_matrices)(unit); }
}  // namespace restride::cpu
#endif
