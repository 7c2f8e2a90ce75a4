// Copies whose unit is no power of two: records of a few bytes, such as pixels of three channels.
#pragma once

#include "src/cpu/args.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

/// The longest records that a tile and a row move as one, and the widest cells of src they may lie in.
inline constexpr std::int64_t kMaxRecordBytes = 64;
inline constexpr std::int64_t kMaxRowRecordBytes = 16;
inline constexpr std::int64_t kMaxCellBytes = 64;

/// A copy seen as one of records. A record is the run of bytes that both sides share, innermost. In src each lies at
/// the start of a cell: dst pixels of 3 bytes may come from cells of 4. In dst they are dense, or, in rows, lie in
/// cells too.
struct Records {
  layout::Canonical copy;       ///< of records: dst_unit is a record's bytes, src_unit a cell's
  std::int32_t unit_bytes = 1;  ///< of the canonical unit that a record is made of
  bool reversed = false;        ///< a record's units run downwards in src (BGR to RGB)

  RecordShape shape() const noexcept { return {copy.dst_unit, copy.src_unit, unit_bytes, reversed}; }
  /// Bytes from src's base to the first record, where its first unit is its last in memory.
  std::int64_t src_shift() const noexcept { return reversed ? unit_bytes - copy.dst_unit : 0; }
};

/// Records to be transposed: false where both sides' fast modes of records are the same, where records or cells are too
/// long, and where a record is a unit, which needs no such view.
bool tile_records(const layout::Canonical& c, Records* out);

/// Rows of records: dst's innermost mode of records is the one that src walks, upwards or downwards. False where
/// records or cells are too long, and where a record is a unit and its stride one that needs no such view.
bool row_records(const layout::Canonical& c, Records* out);

}  // namespace restride::cpu
