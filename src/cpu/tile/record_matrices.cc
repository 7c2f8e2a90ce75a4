// Not for AVX-512 without permutes of bytes, where it was not measured.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3)

#include <algorithm>

#include "src/cpu/records.h"
#include "src/cpu/tile/matrices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tile/record_matrices.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/matrices-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Blocks that follow each other down the columns before those beside them: so that lines of dst are finished early.
template <class Records>
inline constexpr std::int64_t kBlocksDown = 1;
#if HWY_TARGET <= HWY_AVX3_DL
template <std::size_t kUnit>
inline constexpr std::int64_t kBlocksDown<SquareRecords<kUnit>> = 4;
#endif

/// A block's vectors reach past its records, into rows of the column that follow later, and read past its cells. So
/// blocks at the end of columns leave by way of `ends`, and blocks at the end of rows are read from `cells`.
template <class Records>
HWY_NOINLINE void record_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                                  std::int64_t end) noexcept {
  constexpr std::int64_t kRows = Records::kRows, kCols = Records::kCols;
  constexpr std::int64_t kEnd = 5 * kMostMatrixRecordBytes, kCells = 5 * kMaxCellBytes;  // four and what is beyond
  alignas(64) std::uint8_t ends[kCols * kEnd];
  alignas(64) std::uint8_t cells[kRows * kCells] = {};
  const Records records(a.record);
  const std::int64_t record = a.record.bytes, cell = a.record.cell_bytes;
  const std::int64_t block_bytes = kRows * record, block_cells = (kCols - 1) * cell + record;
  for_matrices(a, dst, src, begin, end, [&](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    const std::int64_t row_bytes = (m.cols - 1) * cell + record;
    const auto move = [&](std::int64_t r, std::int64_t c) RESTRIDE_INLINE_LAMBDA {
      const std::int64_t row = std::min(r, m.rows - kRows), col = std::min(c, m.cols - kCols);
      const bool last = (row + kRows) * record + records.spill_bytes() > m.rows * record;
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
                   [=](std::size_t k) RESTRIDE_INLINE_LAMBDA { return to + static_cast<std::int64_t>(k) * to_pitch; });
      for (std::int64_t k = 0; last && k < kCols; ++k)
        copy_bytes(column + k * m.to_pitch, ends + k * kEnd, static_cast<std::size_t>(block_bytes));
    };
    constexpr std::int64_t kDown = kBlocksDown<Records> * kRows;
    for (std::int64_t first = 0; first < m.rows; first += kDown)
      for (std::int64_t c = 0; c < m.cols; c += kCols)
        for (std::int64_t r = first; r < std::min(first + kDown, m.rows); r += kRows) move(r, c);
  });
}

}  // namespace

#if HWY_TARGET <= HWY_AVX3_DL
/// By blocks of lines, where matrices have as many columns.
template <std::size_t kUnit>
void square_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                     std::int64_t end) noexcept {
  if (a.cols >= SquareRecords<kUnit>::kCols)
    record_matrices<SquareRecords<kUnit>>(a, dst, src, begin, end);
  else
    record_matrices<UnitRecords<kUnit>>(a, dst, src, begin, end);
}
#endif

KernelCode<MatrixArgs> pick_record_matrices(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed) {
#if HWY_TARGET == HWY_SCALAR
  (void)record_bytes, (void)cell_bytes;
  if (reversed) return record_matrices<ReversedRecords>;
#else
  (void)reversed;
#if HWY_TARGET <= HWY_AVX3_DL
  if (record_bytes <= 4 && cell_bytes <= 4) return square_matrices<4>;
  if (record_bytes <= 8 && cell_bytes <= 8) return square_matrices<8>;
  if (cell_bytes <= 16) return record_matrices<SquareRecords<16>>;
#endif
  if (record_bytes <= 4 && cell_bytes <= 4) return record_matrices<UnitRecords<4>>;
  if (record_bytes <= 8 && cell_bytes <= 8) return record_matrices<UnitRecords<8>>;
#endif
  return record_matrices<LongRecords<1>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_record_matrices);
KernelCode<MatrixArgs> record_matrices_kernel(std::int64_t record_bytes, std::int64_t cell_bytes,
                                              bool reversed) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_record_matrices)(record_bytes, cell_bytes, reversed);
}
}  // namespace restride::cpu
#endif
