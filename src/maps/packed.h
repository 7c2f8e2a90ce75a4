// The index map of the packed family: the tile is a set of modes, so that both sides move long pieces although their
// innermost modes are short.
//
// The modes of a tile fall in four groups. Leading modes of dst, dense there, form its *runs*; the tile's other modes
// count the runs ("rows"). Leading modes of src form its *pieces*, dense there but for gaps of less than a sector,
// which are read along; the tile's other modes count the pieces. A mode may be in a run and in a piece. Pieces lie in
// shared memory as they lie in src; the byte where unit p of row r is found is `run_table[p] + row_table[r]`, so both
// tables are made once and serve all tiles of a block. At most one mode of a run and one of a piece (each the
// outermost) is cut; the last tile along it is shorter.
#pragma once

#include <cstdint>

#include "src/maps/walk.h"

namespace restride::maps {

inline constexpr int kMaxPackedModes = 20;
inline constexpr int kPackedThreads = 256;
inline constexpr std::int32_t kNoSwizzle = 31;

/// Lanes collect the parts of their dst words in different orders, so that they meet in fewer banks; see packed_turn.
struct PackedTurn {
  std::int32_t factor = 1, shift = 5;  ///< 5: all lanes in one order
  friend constexpr bool operator==(const PackedTurn&, const PackedTurn&) = default;
};

/// Modes of one group, innermost first, and what a step along each adds.
struct PackedModes {
  std::int32_t rank = 0;
  base::FastDiv extent[kMaxPackedModes];
  std::int64_t dst_stride[kMaxPackedModes] = {};   ///< bytes
  std::int64_t src_stride[kMaxPackedModes] = {};   ///< bytes
  std::uint32_t piece_step[kMaxPackedModes] = {};  ///< pieces a step advances by; 0 for modes inside a piece
};

/// How words of dst are collected from shared memory.
enum class PackedKind : std::uint8_t {
  kFixed,   ///< every run of a tile starts alike, so a lane keeps its place in the run, in registers, for all its rows
  kSpread,  ///< the same, with a swizzle or with lanes that take turns
  kLoose,   ///< runs start anywhere: a lane looks its place up for every word
  kFlat,    ///< the runs of a tile follow each other: words pass from one to the next, and only a tile has ends
  kBlock,   ///< units of 1 and 2 bytes: 4 bytes at a time, which are as many rows; transposed in registers
};

/// How a block's threads lie over the words of lines (rows, groups of rows, or pieces): `across` words of each of
/// kPackedThreads / across lines. Steps are numbered along the lines first, so a thread seldom changes its words.
struct PackedLattice {
  base::FastDiv across;    ///< words side by side
  std::int32_t lines = 1;  ///< lines a step takes
  base::FastDiv blocks;    ///< steps along the lines
  std::int32_t steps = 0;
};

struct PackedArgs {
  PackedKind kind = PackedKind::kLoose;
  Walk batch;                    ///< modes outside the tile
  std::uint32_t tiles = 0;       ///< cuts of both cut modes times the batch
  base::FastDiv cuts_d, cuts_s;  ///< tiles along the cut mode of the runs, of the pieces (1 when they are the same)
  std::int64_t d_dst_step = 0, d_src_step = 0;  ///< bytes from one cut to the next
  std::int64_t s_dst_step = 0, s_src_step = 0;
  std::int32_t d_extent = 1, d_chunk = 1;  ///< of the cut modes; 1 and 1 where nothing is cut
  std::int32_t s_extent = 1, s_chunk = 1;
  bool same_cut = false;                                              ///< the run and the piece end in the same mode
  std::int32_t run_units = 0, rows = 0, pieces = 0, piece_bytes = 0;  ///< of a whole tile
  /// Of one index of a cut mode: what a shorter last tile multiplies. rows_per_s and pieces_per_d are 0 where the
  /// count does not depend on the cut.
  std::int32_t run_per_d = 0, pieces_per_d = 0, rows_per_s = 0, piece_per_s = 0;
  std::int64_t dst_offset = 0, src_offset = 0, src_first = 0, src_last = 0;
  std::int64_t tile_first = 0, tile_last = 0;  ///< bytes of src that a whole tile spans, from its first piece's start
  PackedModes run_modes;                       ///< the modes of a run
  PackedModes row_modes;                       ///< the tile's other modes, seen from dst
  PackedModes piece_modes;                     ///< the tile's other modes, seen from src
  std::int32_t run_inside = 0;                 ///< bytes inside a piece at index 0, where modes of a run go backwards
  bool whole_pieces = false;                   ///< pieces of a shorter last tile are as long as all others
  std::int32_t piece_pitch = 0;                ///< bytes from piece to piece in shared memory, a multiple of 16
  std::int32_t swizzle_shift = kNoSwizzle;     ///< see packed_swizzle
  PackedTurn turn;
  PackedLattice load;             ///< over the words of pieces
  PackedLattice store;            ///< over the words of rows, or of groups of rows in blocks
  base::FastDiv flat_run;         ///< units of a run, where runs are flat
  std::int32_t flat_step = 0;     ///< bytes of src from run to run there
  std::int32_t run_copies = 1;    ///< run tables, each shifted by a unit, so that four entries are one access
  std::int32_t tile_bytes = 0;    ///< shared memory of the pieces of one tile
  std::int32_t shared_bytes = 0;  ///< with the tables
  std::uint32_t blocks = 0;
  std::uint8_t src_dtype = 0, dst_dtype = 0;
};

/// Offsets and valid counts of one tile.
struct PackedPlace {
  std::int64_t dst = 0, src = 0;
  std::int32_t run_units = 0, rows = 0, pieces = 0, piece_bytes = 0;
  bool inside = false;  ///< every aligned word that covers a piece lies in the source
};

RESTRIDE_HD constexpr std::int32_t least(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

RESTRIDE_HD constexpr PackedPlace packed_place(const PackedArgs& a, std::uint32_t tile) {
  const std::uint32_t rest = a.cuts_d.quotient(tile);
  const auto d = static_cast<std::int32_t>(tile - rest * a.cuts_d.divisor);
  const std::uint32_t batch = a.cuts_s.quotient(rest);
  const auto s = static_cast<std::int32_t>(rest - batch * a.cuts_s.divisor);
  const Offsets at = offsets(a.batch, batch);
  const std::int32_t valid_d = least(a.d_chunk, a.d_extent - d * a.d_chunk);
  const std::int32_t valid_s = a.same_cut ? valid_d : least(a.s_chunk, a.s_extent - s * a.s_chunk);
  PackedPlace p;
  p.dst = a.dst_offset + at.dst + d * a.d_dst_step + s * a.s_dst_step;
  p.src = a.src_offset + at.src + d * a.d_src_step + s * a.s_src_step;
  p.run_units = a.run_per_d * valid_d;
  p.piece_bytes = a.whole_pieces ? a.piece_bytes : a.piece_per_s * valid_s;
  p.rows = a.rows_per_s != 0 ? a.rows_per_s * valid_s : a.rows;
  p.pieces = a.pieces_per_d != 0 ? a.pieces_per_d * valid_d : a.pieces;
  p.inside = p.src + a.tile_first - 15 >= a.src_first && p.src + a.tile_last + 15 <= a.src_last;
  return p;
}

/// What index tuple number `n` of a group adds up to. `inside` = bytes within a piece.
struct PackedSum {
  std::int64_t dst = 0, src = 0;
  std::int32_t piece = 0, inside = 0;
  std::int64_t piece_src = 0;
};

RESTRIDE_HD constexpr PackedSum packed_sum(const PackedModes& modes, std::uint32_t n) {
  PackedSum sum;
  for (int m = 0; m < modes.rank; ++m) {
    const std::uint32_t rest = m + 1 < modes.rank ? modes.extent[m].quotient(n) : 0;
    const std::uint32_t digit = n - rest * modes.extent[m].divisor;
    n = rest;
    const std::int64_t src = static_cast<std::int64_t>(digit) * modes.src_stride[m];
    sum.dst += static_cast<std::int64_t>(digit) * modes.dst_stride[m];
    sum.src += src;
    sum.piece += static_cast<std::int32_t>(digit * modes.piece_step[m]);
    if (modes.piece_step[m] != 0)
      sum.piece_src += src;
    else
      sum.inside += static_cast<std::int32_t>(src);
  }
  return sum;
}

/// Place in shared memory of a piece whose source lies `piece_src` bytes behind the tile's, less the low four bits of
/// the tile's own address: congruent to its address modulo 16, so that aligned words stay aligned words.
RESTRIDE_HD constexpr std::int32_t packed_piece_base(const PackedArgs& a, std::int32_t piece, std::int64_t piece_src) {
  return piece * a.piece_pitch + static_cast<std::int32_t>(piece_src & 15);
}

/// Spreads what lies a power of two apart over the banks: exclusive-or of a 16-byte word's number among eight with the
/// address bits from `shift` + 4 on.
RESTRIDE_HD constexpr std::uint32_t packed_swizzle(std::uint32_t address, std::int32_t shift) {
  return address ^ (address >> shift & 0x70u);
}

struct PackedStep {
  std::int32_t word = 0, line = 0;
};

/// What a thread moves in step `step`; some words and lines may lie outside, and those of threads without work do.
RESTRIDE_HD constexpr PackedStep packed_step(const PackedLattice& l, std::uint32_t step, std::uint32_t thread) {
  constexpr std::int32_t kOutside = 1 << 24;
  const std::uint32_t group = l.blocks.quotient(step), block = step - group * l.blocks.divisor;
  const std::uint32_t row = l.across.quotient(thread), column = thread - row * l.across.divisor;
  const auto line = static_cast<std::int32_t>(row);
  return {static_cast<std::int32_t>(group * l.across.divisor + column),
          line < l.lines ? static_cast<std::int32_t>(block) * l.lines + line : kOutside};
}

/// By how many parts a lane is ahead of the first.
RESTRIDE_HD constexpr int packed_ahead(int lane, const PackedTurn& turn) { return lane * turn.factor >> turn.shift; }

/// Which part of its dst word a lane collects at step i of `steps` (a power of two).
RESTRIDE_HD constexpr int packed_turn(int lane, int i, int steps, const PackedTurn& turn) {
  return (i + packed_ahead(lane, turn)) & (steps - 1);
}

/// Entries of padding on both sides of a run table: what a word reaches beyond its run.
inline constexpr int kRunPad = 16;

/// Entries of one run table, its padding included; a multiple of 8.
RESTRIDE_HD constexpr std::int32_t packed_run_table(std::int32_t run_units) {
  return (run_units + 2 * kRunPad + 7) / 8 * 8;
}

/// Entry p of the run table; flat runs go on into the next ones.
RESTRIDE_HD constexpr std::int32_t packed_run_entry(const PackedArgs& a, std::uint32_t p) {
  std::int32_t next = 0;
  if (a.kind == PackedKind::kFlat) {
    const std::uint32_t run = a.flat_run.quotient(p);
    p -= run * a.flat_run.divisor;
    next = static_cast<std::int32_t>(run) * a.flat_step;
  }
  const PackedSum sum = packed_sum(a.run_modes, p);
  return packed_piece_base(a, sum.piece, sum.piece_src) + sum.inside + a.run_inside + next;
}

/// Entry r of the row table.
RESTRIDE_HD constexpr PackedSum packed_row_entry(const PackedArgs& a, std::uint32_t row) {
  return packed_sum(a.row_modes, row);
}

}  // namespace restride::maps
