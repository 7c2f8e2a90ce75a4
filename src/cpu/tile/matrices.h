// Moves: matrices of units or of records straight from src to dst, without a stage or a table. With `stream`, dense
//   matrices past the caches: streamed_matrices-inl.h.
// Applies when: as for kernel.h, with one mode of rows and one of columns, 16 bytes of each at least, without a cast,
//   and a dst that does not leave the caches, or as the bid says; of records with a block of rows and 4 columns at
//   least.
// Task map: task t is a matrix, or a band of its columns.
// Buffers: a block of records at the ends, where it is not masked; with `stream` a band of columns. The last block of
// rows or columns starts
//   early rather than short.
// Traffic: within the caches; with `stream`, every line of src is read once and every line of dst is written once.
// Source and measured: the blocks of kernel.h; the bands are ours. bench/results, classes "small" and "odd batches".
#pragma once

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// Rows of a matrix of records, as many as any instruction set's block has, by the longer of a record and its cell; and
/// columns.
constexpr std::int64_t least_record_rows(std::int64_t bytes) noexcept { return bytes <= 4 ? 16 : bytes <= 8 ? 8 : 4; }
inline constexpr std::int64_t kLeastRecordCols = 4;
/// The longest records of matrices. Longer ones are rows of their units (60 x 60 of 20 bytes 3.2 us, by blocks 4.3).
inline constexpr std::int64_t kMostMatrixRecordBytes = 16;

/// Past the caches: columns so short that a line of each row stays in the first cache beside a band.
inline constexpr std::int64_t kMostStreamedRows = 320;
inline constexpr std::int64_t kMostStreamedColumnBytes = 1280;
inline constexpr std::int64_t kStreamedBandBytes = 6 << 10;
/// Longer ones: a band has so many bytes of each row at least, and so much room.
inline constexpr std::int64_t kLongPieceBytes = 32;
inline constexpr std::int64_t kLongBandBytes = 24 << 10;
inline constexpr std::int64_t kStreamedPartBytes = 256;  ///< of a column that are put together at a time; or ...
inline constexpr std::int64_t kStreamedPartRows = 32;    ///< ... so many rows, if they are more

/// From column to column of a band: an odd number of lines, so that stores spread over the cache's sets.
constexpr std::int64_t streamed_column_pitch(std::int64_t column_bytes) noexcept {
  return (ceil_div(column_bytes, std::int64_t{64}) | 1) * 64;
}
constexpr std::int64_t longest_streamed_column(std::int64_t unit) noexcept {
  return std::min(kMostStreamedRows * unit, kMostStreamedColumnBytes);
}
/// Columns of a band: those that lie in a line of src, or as many as have room; whole blocks.
constexpr std::int64_t streamed_band_cols(std::int64_t column_bytes, std::int64_t unit) noexcept {
  const std::int64_t block = 16 / unit;
  const std::int64_t fitting = kStreamedBandBytes / streamed_column_pitch(column_bytes) / block * block;
  const std::int64_t least = column_bytes <= longest_streamed_column(unit) ? block : kLongPieceBytes / unit;
  return std::clamp(fitting, least, 64 / unit);
}
constexpr bool fits_a_band(std::int64_t column_bytes, std::int64_t unit) noexcept {
  const std::int64_t room = column_bytes <= longest_streamed_column(unit) ? kStreamedBandBytes : kLongBandBytes;
  return streamed_band_cols(column_bytes, unit) * streamed_column_pitch(column_bytes) <= room;
}
/// Rows of a band that are put together before as many lines are prefetched.
constexpr std::int64_t streamed_part_rows(std::int64_t unit) noexcept {
  return std::max(kStreamedPartBytes / unit, kStreamedPartRows);
}
static_assert(fits_a_band(longest_streamed_column(1), 1) && fits_a_band(longest_streamed_column(2), 2) &&
                  fits_a_band(longest_streamed_column(4), 4) && fits_a_band(longest_streamed_column(8), 8) &&
                  fits_a_band(longest_streamed_column(16), 16),
              "a band has room for a block's columns");

/// The kernel of the instruction set in use for this unit. With `stream`, matrices are dense on both sides; only
/// vectors of 64 bytes write past the caches.
KernelCode<MatrixArgs> matrices_kernel(int unit) noexcept;
/// The same for records (record_matrices.cc); args have their `record` set. What is reversed has cells of up to 8
/// bytes. AVX-512 is used where it has permutes of bytes.
KernelCode<MatrixArgs> record_matrices_kernel(std::int64_t record_bytes, std::int64_t cell_bytes,
                                              bool reversed) noexcept;

}  // namespace restride::cpu
