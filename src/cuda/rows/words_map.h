// The index map of the rows family (and of run, its case of one row): which unit or word of which row a thread
// moves at each step.
//
// A row is the innermost mode: contiguous in dst, walked at a constant step in src. Threads take a row's words in
// order, so a warp writes whole sectors. Words of all rows are numbered through, so no block is idle at a row's end;
// where there are 2^31 words or more, each block has a chunk of one row instead.
#pragma once

#include <cstdint>

#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kRowsThreads = 256;  ///< of a block
inline constexpr int kWideThreads = 512;  ///< of one for rows of whole words, not very long ones
inline constexpr int kWideSteps = 2;      ///< words of each of its threads
inline constexpr int kCastThreads = 128;  ///< of one that converts

/// How a thread reads what it writes.
enum class RowsKind : std::uint8_t {
  kUnit,     ///< one unit a thread; any src_step
  kForward,  ///< a 16-byte word of dst, from two aligned words of src; src_step = unit
  kReverse,  ///< the same, units in opposite order; src_step = -unit
  kCollect,  ///< a word of dst collected from units; any src_step
  kRepeat,   ///< a word of dst that holds one unit again and again; src_step = 0
  kDense,    ///< casts: a vector of units from a vector of units; rows of both sides start on vectors
};

struct RowsArgs {
  Walk rows;                    ///< over the modes outside the row
  std::int64_t dst_offset = 0;  ///< of unit 0 of row 0
  std::int64_t src_offset = 0;
  std::int64_t src_first = 0;  ///< bytes [first, last) relative to src that belong to the source: words that
  std::int64_t src_last = 0;   ///< reach beyond are read by the unit
  std::int64_t src_step = 0;   ///< bytes from unit to unit within a row
  std::int64_t row_units = 0;
  std::uint32_t row_count = 1;
  base::FastDiv pieces;  ///< words a row; with `chunked`, blocks a row
  bool chunked = false;
  bool fetch_ends = false;  ///< dst has gaps between rows: L2 is asked for the sectors that a row fills in part
  bool keep = false;        ///< units of 16 bytes: L2 is asked to give up words of src last
  std::uint32_t blocks = 0;
  std::uint32_t block_words = 0;              ///< words a block moves: threads times steps
  std::int32_t threads = kRowsThreads;        ///< of a block
  bool whole = false;                         ///< units are words, numbered through, and share no sector with gaps
  std::uint8_t src_dtype = 0, dst_dtype = 0;  ///< with a cast
  RowsKind kind = RowsKind::kCollect;
};

/// A word to move: number `word` of row `row`; `row` may be past the end in the last block of short rows.
struct RowsItem {
  std::uint32_t row = 0;
  std::int64_t word = 0;
};

/// Word number `n` of all rows.
RESTRIDE_HD constexpr RowsItem rows_numbered(const RowsArgs& a, std::uint32_t n) {
  const std::uint32_t row = a.pieces.quotient(n);
  return {row, n - row * a.pieces.divisor};
}

/// `index` is the thread's place among the block's words: step * threads + thread.
RESTRIDE_HD constexpr RowsItem rows_item(const RowsArgs& a, std::uint32_t block, std::uint32_t index) {
  if (!a.chunked) return rows_numbered(a, block * a.block_words + index);
  const std::uint32_t row = a.pieces.quotient(block), piece = block - row * a.pieces.divisor;
  return {row, static_cast<std::int64_t>(piece) * a.block_words + index};
}

/// Units of a row that word `word` covers when each word is `count` units and starts on a word boundary of the
/// address space; `skew` = units by which the row's first unit lies behind such a boundary. May reach outside
/// [0, row_units): those units are not the row's.
RESTRIDE_HD constexpr std::int64_t rows_first_unit(std::int64_t word, int count, int skew) {
  return word * count - skew;
}

/// Words that cover a row wherever it starts.
RESTRIDE_HD constexpr std::int64_t rows_words(std::int64_t row_units, int count, int max_skew) {
  // The quotient first: the sum of a row's units and the rest need not fit.
  return row_units / count + (row_units % count + max_skew + count - 1) / count;
}

}  // namespace restride::cuda
