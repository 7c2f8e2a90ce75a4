// Not for AVX-512 without permutes of bytes, where it was not measured.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3)

#include <algorithm>
#include <type_traits>

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

/// Where blocks are not masked, a block's vectors reach past its records, into rows of the column that follow later,
/// and read past its cells.
template <class Records>
struct Ends {
  static constexpr std::int64_t kPitch = 5 * kMostMatrixRecordBytes;  ///< four records and what is written beyond
  static constexpr std::int64_t kCellPitch = 5 * kMaxCellBytes;       ///< four cells and what is read beyond
  alignas(64) std::uint8_t columns[Records::kCols * kPitch];          ///< that leave by way of it
  alignas(64) std::uint8_t cells[Records::kRows * kCellPitch] = {};   ///< from which the ends of rows are read
};

/// A block of records at `from`, the columns of which start at `to`.
template <class Records>
HWY_INLINE void move_records(const Records& records, const std::uint8_t* from, std::int64_t from_pitch,
                             std::uint8_t* to, std::int64_t to_pitch) {
  records.move([=](std::int64_t i) RESTRIDE_INLINE_LAMBDA { return from + i * from_pitch; },
               [=](std::size_t k) RESTRIDE_INLINE_LAMBDA { return to + static_cast<std::int64_t>(k) * to_pitch; });
}

/// The same where it may be the last of a column, or of a row.
template <class Records>
HWY_INLINE void move_records_by_ends(const Records& records, const RecordShape& r, bool last_of_row,
                                     bool last_of_column, const std::uint8_t* from, std::int64_t from_pitch,
                                     std::uint8_t* to, std::int64_t to_pitch, Ends<Records>* ends) {
  using E = Ends<Records>;
  constexpr std::int64_t kRows = Records::kRows, kCols = Records::kCols;
  if (HWY_UNLIKELY(last_of_row)) {
    const std::int64_t bytes = (kCols - 1) * r.cell_bytes + r.bytes;
    for (std::int64_t i = 0; i < kRows; ++i)
      copy_bytes(ends->cells + i * E::kCellPitch, from + i * from_pitch, static_cast<std::size_t>(bytes));
    from = ends->cells;
    from_pitch = E::kCellPitch;
  }
  if (!last_of_column) return move_records(records, from, from_pitch, to, to_pitch);
  move_records(records, from, from_pitch, ends->columns, E::kPitch);
  for (std::int64_t k = 0; k < kCols; ++k)
    copy_bytes(to + k * to_pitch, ends->columns + k * E::kPitch, static_cast<std::size_t>(kRows * r.bytes));
}

template <class Records>
HWY_NOINLINE void record_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                                  std::int64_t end) noexcept {
  constexpr std::int64_t kRows = Records::kRows, kCols = Records::kCols;
  struct None {};
  std::conditional_t<Records::kMasked, None, Ends<Records>> ends;
  const Records records(a.record);
  const std::int64_t record = a.record.bytes, cell = a.record.cell_bytes;
  for_matrices(a, dst, src, begin, end, [&](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    const auto move = [&](std::int64_t r, std::int64_t c) RESTRIDE_INLINE_LAMBDA {
      const std::int64_t row = std::min(r, m.rows - kRows), col = std::min(c, m.cols - kCols);
      const std::uint8_t* from = m.from + row * m.from_pitch + col * cell;
      std::uint8_t* to = m.to + col * m.to_pitch + row * record;
      if constexpr (Records::kMasked) {
        move_records(records, from, m.from_pitch, to, m.to_pitch);
      } else {
        const bool last_of_row = col * cell + records.read_bytes() > (m.cols - 1) * cell + record;
        const bool last_of_column = (row + kRows) * record + records.spill_bytes() > m.rows * record;
        move_records_by_ends(records, a.record, last_of_row, last_of_column, from, m.from_pitch, to, m.to_pitch, &ends);
      }
    };
    const std::int64_t down = (Records::kMasked ? a.blocks_down : 1) * kRows;
    for (std::int64_t first = 0; first < m.rows; first += down)
      for (std::int64_t c = 0; c < m.cols; c += kCols)
        for (std::int64_t r = first; r < std::min(first + down, m.rows); r += kRows) move(r, c);
  });
}

}  // namespace

#if HWY_TARGET <= HWY_AVX3_DL
/// By blocks of lines where matrices, or the bands of one, none of which is narrower, have as many columns as such a
/// block; else by fewer columns at a time.
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
