// Moves: tiles of records: a transpose whose unit is a run of bytes that both sides share (pixels of 3 bytes, structs
//   of 12), dense in dst, each at the start of a cell in src; optionally reversed on the way (BGR to RGB).
// Applies when: as for tile.h, with records for units.
// Task map: tile.h's.
// Buffers: a tile of source rows; some columns, each from the start of its line on; a line a column that carries the
//   ragged end over to the next tile. With `near`, AVX-512 and records of three parts, such as pixels of three
//   channels, only the last (triples-inl.h): rows are read in place and lines are made in registers. Records that are
//   lines of dst are read in place and leave at once: none.
// Traffic: as for tile.h. Source bytes between the records of a row are read along.
// Source and measured: a record of up to 16 bytes is spread into the unit of 4, 8 or 16 bytes that holds it, transposed
//   like any other (transpose-inl.h), and packed again; a longer one is copied. bench/results.
#pragma once

#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// What a column of a tile may be long: 64 rows of the longest record.
inline constexpr std::int64_t kMaxRecordColumnBytes = 4096;
/// Columns that are read from a tile together: so many whole ones have to fit kMaxTileRowBytes.
inline constexpr std::int64_t kMaxRecordBlockCols = 4;

/// The kernel of the instruction set in use; args have their `record` set. `triples`: records of three parts are
/// transposed in registers, where the instruction set has the permutes and, past the caches, dst lies on whole parts:
/// a plan may promise no alignment, so the address has the last word, once a call.
KernelCode<TileArgs> record_kernel(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed,
                                   bool triples) noexcept;

}  // namespace restride::cpu
