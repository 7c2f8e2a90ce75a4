// Moves: matrices that stay in the caches, of units or of records, straight from src to dst: nothing staged, nothing
//   tabled.
// Applies when: as for kernel.h, with one mode of rows and one of columns, 16 bytes of each at least, without a cast,
//   and a dst that does not leave the caches; of records with 16 rows and 4 columns at least.
// Task map: task t is a matrix, or a band of its columns.
// Buffers: none, but a block of records at the ends. The last block of rows or columns starts early rather than short.
// Traffic: within the caches.
// Source and measured: the blocks of kernel.h. bench/results, class "small".
#pragma once

#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// Rows and columns of a matrix of records: a block of any instruction set's.
inline constexpr std::int64_t kLeastRecordRows = 16;
inline constexpr std::int64_t kLeastRecordCols = 4;
/// The longest records of matrices. Longer ones are rows of their units (60 x 60 of 20 bytes 3.2 us, by blocks 4.3).
inline constexpr std::int64_t kMostMatrixRecordBytes = 16;

/// The kernel of the instruction set in use for this unit.
KernelCode<MatrixArgs> matrices_kernel(int unit) noexcept;
/// The same for records (record_matrices.cc); args have their `record` set. What is reversed has cells of up to 8
/// bytes. AVX-512 is not used.
KernelCode<MatrixArgs> record_matrices_kernel(std::int64_t record_bytes, std::int64_t cell_bytes,
                                              bool reversed) noexcept;

}  // namespace restride::cpu
