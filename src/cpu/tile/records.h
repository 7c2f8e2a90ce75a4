// Moves: tiles of records: a transpose whose unit is a run of bytes that both sides share (pixels of 3 bytes, structs
//   of 12), dense in dst, each at the start of a cell in src; optionally reversed on the way (BGR to RGB).
// Applies when: as for kernel.h, with records for units.
// Task map: kernel.h's.
// Buffers: a tile of source rows; some columns, each from the start of its line on; a line a column that carries the
//   ragged end over to the next tile. Records of three parts on AVX-512, such as pixels of three channels, need only
//   the line a column if their rows are read in place: lines are made in registers (triples-inl.h). Records that are
//   lines of dst are read in place and leave at once: none. Records that are merged (merged-inl.h): the line a column;
//   where columns start differently inside lines, also pieces of some columns.
// Traffic: as for kernel.h. Source bytes between the records of a row are read along.
// Source and measured: a record of up to 8 bytes (in a cell of as many), or a reversed one of up to 16, is spread into
//   the unit of 4, 8 or 16 bytes that holds it, transposed like any other (transpose-inl.h), and packed again; the
//   others are copied. bench/results.
#pragma once

#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// What a column of a tile may be long: 64 rows of the longest record.
inline constexpr std::int64_t kMaxRecordColumnBytes = 4096;
/// Columns that are read from a tile together: so many whole ones have to fit kMaxTileRowBytes.
inline constexpr std::int64_t kMaxRecordBlockCols = 4;

/// Blocks of records that permutes of bytes merge: see merged-inl.h.
struct MergedShape {
  std::int64_t levels = 0;  ///< of permutes: a block has 2^levels rows, which make 33 to 64 bytes of a column
  std::int64_t first = 0;   ///< sets of columns that the first level leaves
  std::int64_t last = 0;    ///< columns that the last one takes apart
  std::int64_t cols() const noexcept { return levels == 1 ? last : first * last << (levels - 2); }
  std::int64_t read_bytes() const noexcept { return levels >= 3 ? 32 : 64; }  ///< of each row
};

constexpr MergedShape merged_shape(std::int64_t record_bytes) noexcept {
  MergedShape s;
  for (std::int64_t rows = 2; rows * record_bytes <= 64; rows *= 2) ++s.levels;
  s.first = s.levels >= 3 ? 1 : 2;
  s.last = s.levels > 0 && 3 * record_bytes << (s.levels - 1) <= 64 ? 3 : 2;
  return s;
}
inline bool can_merge(std::int64_t record_bytes, std::int64_t cell_bytes) noexcept {
  if (record_bytes < 5 || record_bytes > 32) return false;
  const MergedShape s = merged_shape(record_bytes);
  return (s.cols() - 1) * cell_bytes + record_bytes <= s.read_bytes();
}

/// The kernel of the instruction set in use; args have their `record` set. kTriples, kMerged: where the instruction set
/// has the permutes and, for triples past the caches, dst lies on whole parts: a plan may promise no alignment, so the
/// address has the last word, once a call.
KernelCode<TileArgs> record_kernel(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed,
                                   RecordWay way) noexcept;

}  // namespace restride::cpu
