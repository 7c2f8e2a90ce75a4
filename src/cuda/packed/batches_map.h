// The index map of packed's kernel for dense blocks: copies whose innermost modes make up a run of bytes in dst and the
// same bytes in src, in another order. Such a block is called a matrix here, whatever its rank.
//
// A tile is some matrices that follow each other in dst. They lie in shared memory as they do in src, congruent to
// their addresses modulo 16. A table says where each line of dst, the innermost mode, begins there.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"
#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kMaxBatchModes = 6;  ///< of a matrix
inline constexpr int kMostBatchThreads = 256;
inline constexpr std::uint32_t kBatchSector = 32;  ///< bytes: kSectorBytes, whose header is the host's alone
inline constexpr int kMostBatchTurns = 3;          ///< lines that a word of dst may go on to

/// How lanes know where the units of a word lie.
enum class BatchKind : std::uint8_t {
  kLines,  ///< by a table of lines, for every word
  kKept,   ///< found out once, for words as far apart as matrices that are whole words
};

struct BatchArgs {
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t src_first = 0, src_last = 0;
  Walk batch;                      ///< tiles' outer modes
  base::FastDiv row_tiles;         ///< tiles along matrices that follow each other in dst
  std::int32_t matrices = 0;       ///< of them, and
  std::int32_t tile_matrices = 1;  ///< in a tile
  std::int64_t src_pitch = 0;      ///< bytes of src from one of them to the next
  std::int32_t matrix_bytes = 0;   ///< and of dst
  std::int32_t pieces = 1;         ///< runs of src in a tile: one, or one a matrix
  std::int32_t piece_pitch = 0;    ///< bytes of shared memory from one to the next
  base::FastDiv piece_words;       ///< words that cover one wherever it starts
  base::FastDiv line_units;        ///< of dst, the innermost mode
  std::int32_t unit_step = 0;      ///< bytes of src that one unit more adds
  base::FastDiv matrix_lines;      ///< lines of a matrix
  std::int32_t rank = 0;           ///< its other modes, innermost in dst first
  base::FastDiv extent[kMaxBatchModes - 1];
  std::int32_t step[kMaxBatchModes - 1] = {};   ///< bytes of src that one index more adds
  std::int32_t again[kMaxBatchModes - 1] = {};  ///< the same, less what the mode before it then goes back
  std::int32_t word_bytes = 16;                 ///< of dst that a lane collects at once
  std::int32_t kept_words = 0;  ///< words from one to the next of a lane that keeps its places; 0: none does
  std::uint32_t tiles = 0;
  std::int32_t threads = 128;
};

/// A tile: where its first matrix lies, and how many it has.
struct BatchPlace {
  Offsets at;
  std::int32_t matrices = 0;
};

RESTRIDE_HD constexpr BatchPlace batch_place(const BatchArgs& a, std::uint32_t tile) {
  const std::uint32_t outer = a.row_tiles.quotient(tile);
  const std::int32_t first = static_cast<std::int32_t>(tile - outer * a.row_tiles.divisor) * a.tile_matrices;
  BatchPlace place{offsets(a.batch, outer), a.matrices - first};
  place.at.dst += a.dst_offset + std::int64_t{first} * a.matrix_bytes;
  place.at.src += a.src_offset + first * a.src_pitch;
  if (place.matrices > a.tile_matrices) place.matrices = a.tile_matrices;
  return place;
}

/// Runs of src that a tile of so many matrices reads, and bytes of one.
RESTRIDE_HD constexpr std::int32_t batch_pieces(const BatchArgs& a, std::int32_t matrices) {
  return a.pieces == 1 ? 1 : matrices;
}
RESTRIDE_HD constexpr std::int32_t batch_piece_bytes(const BatchArgs& a, std::int32_t matrices) {
  return a.pieces == 1 ? matrices * a.matrix_bytes : a.matrix_bytes;
}

/// Where a piece begins in shared memory; `src`: the low bits of the address of the tile's first one.
RESTRIDE_HD constexpr std::int32_t batch_piece(const BatchArgs& a, std::int32_t piece, std::uint32_t src) {
  const auto low = static_cast<std::uint32_t>(src + static_cast<std::uint32_t>(a.src_pitch) * piece) & 15;
  return piece * a.piece_pitch + static_cast<std::int32_t>(low);
}

/// Where line `line` of the tile's dst begins there. The line behind the last one has a place, too, but no units.
RESTRIDE_HD constexpr std::int32_t batch_line(const BatchArgs& a, std::uint32_t line, std::uint32_t src) {
  const std::uint32_t matrix = a.matrix_lines.quotient(line);
  std::uint32_t rest = line - matrix * a.matrix_lines.divisor;
  const auto number = static_cast<std::int32_t>(matrix);
  std::int32_t at =
      a.pieces == 1 ? static_cast<std::int32_t>(src & 15) + number * a.matrix_bytes : batch_piece(a, number, src);
  at += static_cast<std::int32_t>(rest) * a.step[0];
  for (int m = 1; m < a.rank; ++m) {  // each time an index of mode m - 1 begins again, one of mode m goes on
    rest = a.extent[m - 1].quotient(rest);
    at += static_cast<std::int32_t>(rest) * a.again[m];
  }
  return at;
}

/// Lines of so many units that a word goes on to at most, behind the one that it begins in.
RESTRIDE_HD constexpr std::int32_t batch_turns(std::uint32_t line_units, int unit, int word_bytes) {
  const auto more = static_cast<std::uint32_t>(word_bytes / unit - 1);
  return static_cast<std::int32_t>((more + line_units - 1) / line_units);
}

/// Entries of the table of lines: of a whole tile, and those behind it that its last word may go on to.
RESTRIDE_HD constexpr std::int32_t batch_lines(const BatchArgs& a, std::int32_t matrices) {
  return matrices * static_cast<std::int32_t>(a.matrix_lines.divisor) + kMostBatchTurns;
}

/// Shared memory: pieces, then the table, 2 bytes an entry.
RESTRIDE_HD constexpr std::int32_t batch_table(const BatchArgs& a) { return a.pieces * a.piece_pitch; }
RESTRIDE_HD constexpr std::int32_t batch_shared(const BatchArgs& a) {
  return batch_table(a) + (batch_lines(a, a.tile_matrices) * 2 + 15) / 16 * 16;
}

/// Entries that are made: all of them, or where a lane keeps its places those that its first words need.
RESTRIDE_HD constexpr std::int32_t batch_lines_made(const BatchArgs& a, std::int32_t matrices, int unit) {
  const std::int32_t all = batch_lines(a, matrices);
  if (a.kept_words == 0) return all;
  const auto line_bytes = static_cast<std::uint32_t>(unit) * a.line_units.divisor;
  const auto kept =
      static_cast<std::int32_t>((kBatchSector - 1 + static_cast<std::uint32_t>(a.kept_words) * 16) / line_bytes) + 1;
  return kept + kMostBatchTurns < all ? kept + kMostBatchTurns : all;
}

/// A tile's run of dst: bytes before its first whole sector, the words from there on, and bytes behind the last one. So
/// the words of a warp, side by side, make up whole sectors.
struct BatchRun {
  std::int32_t head = 0, words = 0, tail = 0;
};
RESTRIDE_HD constexpr BatchRun batch_run(const BatchArgs& a, std::int32_t matrices, std::uint32_t dst) {
  const std::int32_t bytes = matrices * a.matrix_bytes;
  BatchRun run;
  run.head = static_cast<std::int32_t>((0u - dst) & (kBatchSector - 1));
  if (run.head > bytes) run.head = bytes;
  run.words = (bytes - run.head) / a.word_bytes;
  run.tail = bytes - run.head - run.words * a.word_bytes;
  return run;
}

/// Of a unit of a tile: its line, and its place there.
struct BatchUnit {
  std::int32_t line = 0, at = 0;
};
RESTRIDE_HD constexpr BatchUnit batch_unit(const BatchArgs& a, std::int32_t unit) {
  const auto line = static_cast<std::int32_t>(a.line_units.quotient(static_cast<std::uint32_t>(unit)));
  return {line, unit - line * static_cast<std::int32_t>(a.line_units.divisor)};
}

}  // namespace restride::cuda
