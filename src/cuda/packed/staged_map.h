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

#include "src/cuda/packed/lattice_map.h"
#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kMaxPackedModes = 20;
inline constexpr std::int32_t kNoSwizzle = 31, kNoPad = 31;

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
  kSpread,  ///< the same, with a swizzle or with lanes that rotate their words' parts
  kLoose,   ///< runs start anywhere: a lane looks its place up for every word
  kFlat,    ///< the runs of a tile follow each other: words pass from one to the next, and only a tile has ends
  kTransposed,  ///< units of 1 and 2 bytes: 4 bytes at a time, which are as many rows; transposed in registers
  kSorted,      ///< loose, but rows are sorted by where they start, so a lane keeps its place for all of its rows
};

struct PackedArgs {
  PackedKind kind = PackedKind::kLoose;
  Walk batch;                    ///< modes outside the tile
  std::uint32_t tiles = 0;       ///< cuts of both cut modes times the batch
  base::FastDiv cuts_d, cuts_s;  ///< tiles along the cut mode of the runs, of the pieces (1 when they are the same)
  std::int64_t d_dst_step = 0, d_src_step = 0;  ///< bytes from one cut to the next
  std::int64_t s_dst_step = 0, s_src_step = 0;
  std::int32_t d_chunk = 1, d_last = 1;  ///< indices of the cut modes in a tile and in the last one along them
  std::int32_t s_chunk = 1, s_last = 1;  ///< (the modes themselves may have any number); 1 where nothing is cut
  bool same_cut = false;                 ///< the run and the piece end in the same mode
  bool pieces_first = false;             ///< tiles follow the cut mode of the pieces first, not that of the runs
  std::int32_t run_units = 0, rows = 0, pieces = 0, piece_bytes = 0;  ///< of a whole tile
  /// Amount per index of the cut mode; a short last tile multiplies it by its indices. rows_per_s and pieces_per_d are
  /// 0 where the count does not depend on the cut.
  std::int32_t run_per_d = 0, pieces_per_d = 0, rows_per_s = 0, piece_per_s = 0;
  std::int64_t dst_offset = 0, src_offset = 0, src_first = 0, src_last = 0;
  std::int64_t tile_first = 0, tile_last = 0;  ///< bytes of src that a whole tile spans, from its first piece's start
  PackedModes run_modes;                       ///< the modes of a run
  PackedModes row_modes;                       ///< the tile's other modes, seen from dst
  PackedModes piece_modes;                     ///< the tile's other modes, seen from src
  std::int32_t run_inside = 0;                 ///< bytes inside a piece at index 0, where modes of a run go backwards
  bool whole_pieces = false;                   ///< pieces of a shorter last tile are as long as all others
  std::int32_t piece_pitch = 0;                ///< bytes from piece to piece in shared memory, a multiple of 16
  std::int32_t pad_shift = kNoPad;             ///< a word more after every 2^pad_shift pieces
  std::int32_t threads = kPackedThreads;       ///< of a block
  std::int32_t swizzle_shift = kNoSwizzle;     ///< see packed_swizzle
  PackedRotation rotation;
  PackedLattice load;             ///< over the words of pieces
  PackedLattice store;            ///< over the words of rows, or of groups of rows that are transposed
  base::FastDiv flat_run;         ///< units of a run, where runs are flat
  std::int32_t flat_step = 0;     ///< bytes of src from run to run there
  PackedCycles cycles;            ///< how threads lie over flat runs
  std::int32_t start_step = 0;    ///< sorted rows start at multiples of so many bytes; 0: not sorted
  std::int32_t run_copies = 1;    ///< run tables, each shifted by a unit, so that four entries are one access
  std::int32_t run_table = 0;     ///< entries of each
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
  const bool pieces_first = a.pieces_first;
  const std::uint32_t rest = pieces_first ? a.cuts_s.quotient(tile) : a.cuts_d.quotient(tile);
  const std::uint32_t batch = pieces_first ? a.cuts_d.quotient(rest) : a.cuts_s.quotient(rest);
  const auto d =
      static_cast<std::int32_t>(pieces_first ? rest - batch * a.cuts_d.divisor : tile - rest * a.cuts_d.divisor);
  const auto s =
      static_cast<std::int32_t>(pieces_first ? tile - rest * a.cuts_s.divisor : rest - batch * a.cuts_s.divisor);
  const Offsets at = offsets(a.batch, batch);
  const auto valid = [](std::int32_t cut, const base::FastDiv& cuts, std::int32_t chunk, std::int32_t last) {
    return static_cast<std::uint32_t>(cut) + 1 == cuts.divisor ? last : chunk;
  };
  const std::int32_t valid_d = valid(d, a.cuts_d, a.d_chunk, a.d_last);
  const std::int32_t valid_s = a.same_cut ? valid_d : valid(s, a.cuts_s, a.s_chunk, a.s_last);
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

/// Bytes to add to `piece * piece_pitch`: the padding, and the offset that keeps the piece congruent to its address
/// modulo 16. Its source lies `piece_src` bytes behind the tile's.
RESTRIDE_HD constexpr std::int32_t packed_piece_shift(std::int32_t pad_shift, std::int32_t piece,
                                                      std::int64_t piece_src) {
  return (piece >> pad_shift) * 16 + static_cast<std::int32_t>(piece_src & 15);
}

/// Place in shared memory of a piece, less the low four bits of the tile's own address.
RESTRIDE_HD constexpr std::int32_t packed_piece_base(const PackedArgs& a, std::int32_t piece, std::int64_t piece_src) {
  return piece * a.piece_pitch + packed_piece_shift(a.pad_shift, piece, piece_src);
}

/// Sorted rows and flat runs of small units are kept out of each other's banks by padding, all others by a swizzle,
/// which costs a little for every unit that is looked up.
RESTRIDE_HD constexpr bool packed_pads(int dst_unit) { return dst_unit < 4; }

/// True where what lies in shared memory may have a swizzle.
RESTRIDE_HD constexpr bool packed_swizzles(PackedKind kind) {
  return kind != PackedKind::kFixed && kind != PackedKind::kFlat && kind != PackedKind::kSorted;
}

/// Spreads what lies a power of two apart over the banks: exclusive-or of a 16-byte word's number among eight with the
/// address bits from `shift` + 4 on.
RESTRIDE_HD constexpr std::uint32_t packed_swizzle(std::uint32_t address, std::int32_t shift) {
  return address ^ (address >> shift & 0x70u);
}

/// True where the words of dst that a run fills in part are collected after all whole ones, 4 bytes a lane: for units
/// of 1 and 2 bytes such words cost far more than whole ones, and all lanes of a warp would wait for those of a few.
RESTRIDE_HD constexpr bool packed_ends_apart(PackedKind kind, int dst_unit, bool cast) {
  return kind != PackedKind::kFlat && dst_unit < 4 && !cast;
}

/// Units of a run before its first whole word; a word has `units`, and the run starts at unit `start` of one.
RESTRIDE_HD constexpr std::int32_t packed_head(std::int32_t start, std::int32_t units) {
  return (units - start) & (units - 1);
}

/// Units [first, last) of a run, counted from it, that belong into 4 bytes of dst; none where first >= last.
struct PackedEnd {
  std::int32_t unit = 0;  ///< at the start of the 4 bytes
  std::int32_t first = 0, last = 0;
};

/// The parts of the words of dst that a run fills in part: 0 to 3 of the word at its front, 4 to 7 of that at its back.
inline constexpr int kPackedEndParts = 8;
RESTRIDE_HD constexpr PackedEnd packed_end(std::int32_t start, std::int32_t run_units, std::int32_t units, int part) {
  const std::int32_t head = packed_head(start, units), behind = run_units - head;
  const std::int32_t back = behind > 0 ? run_units - (behind & (units - 1)) : run_units;
  const std::int32_t unit = (part < 4 ? head - units : back) + (part & 3) * (units / 4);
  return {unit, unit < 0 ? 0 : unit, least(unit + units / 4, run_units)};
}

/// Where in the row table the row stands that is number `rank` of those that start at byte `start` of a word. The
/// lattice's lines are dealt to the starts in turn, so that a lane's rows all start alike, and rows that follow each
/// other are neighbouring lines'.
RESTRIDE_HD constexpr std::int32_t packed_sorted_place(const PackedArgs& a, std::int32_t start, std::int32_t rank) {
  const auto passes = static_cast<std::int32_t>(a.store.passes.divisor);
  const auto round = static_cast<std::int32_t>(a.store.passes.quotient(static_cast<std::uint32_t>(rank)));
  return (start / a.start_step + round * (16 / a.start_step)) * passes + rank - round * passes;
}

/// Entries of the row table.
RESTRIDE_HD constexpr std::int32_t packed_row_table(const PackedArgs& a) {
  return a.start_step != 0 ? a.store.lines * static_cast<std::int32_t>(a.store.passes.divisor) : a.rows;
}

/// Entries of padding on both sides of a run table: what a word reaches beyond its run.
inline constexpr int kRunPad = 16;

/// Entries of a gap in a run table behind those of every word of dst: lanes that look up words side by side then meet
/// in no bank. Only where each lane looks up its units one by one, and words have many.
RESTRIDE_HD constexpr std::int32_t packed_run_gap(PackedKind kind, int dst_unit) {
  return (kind == PackedKind::kFixed || kind == PackedKind::kSpread) && dst_unit < 4 ? 2 : 0;
}

/// Copies of a run table, each shifted by a unit, so that the entries of 4 bytes of units are one access: where each
/// word is looked up, and units are narrower.
RESTRIDE_HD constexpr std::int32_t packed_run_copies(PackedKind kind, int dst_unit) {
  const bool found = kind == PackedKind::kLoose || kind == PackedKind::kFlat || kind == PackedKind::kSorted;
  return found && dst_unit < 4 ? 4 / dst_unit : 1;
}

/// Where a run table with such gaps has its entry number `i`, counted from the start of its padding.
RESTRIDE_HD constexpr std::int32_t packed_run_place(std::int32_t i, int dst_unit, std::int32_t gap) {
  return i + i / (16 / dst_unit) * gap;
}

/// Entries of one run table, its padding and its gaps included; a multiple of 8.
RESTRIDE_HD constexpr std::int32_t packed_run_table(std::int32_t run_units, int dst_unit, std::int32_t gap) {
  return (packed_run_place(run_units + 2 * kRunPad, dst_unit, gap) + 7) / 8 * 8;
}

/// Entry p of the run table; flat runs go on into the next ones. All of it lies within a tile, so 32 bits do.
RESTRIDE_HD constexpr std::int32_t packed_run_entry(const PackedArgs& a, std::uint32_t p) {
  std::int32_t inside = a.run_inside, piece = 0;
  std::uint32_t piece_src = 0;  // of which the low four bits count
  if (a.kind == PackedKind::kFlat) {
    const std::uint32_t run = a.flat_run.quotient(p);
    p -= run * a.flat_run.divisor;
    inside += static_cast<std::int32_t>(run) * a.flat_step;
  }
  const PackedModes& modes = a.run_modes;
  for (int m = 0; m < modes.rank; ++m) {
    const std::uint32_t rest = m + 1 < modes.rank ? modes.extent[m].quotient(p) : 0;
    const std::uint32_t digit = p - rest * modes.extent[m].divisor;
    p = rest;
    const std::uint32_t src = digit * static_cast<std::uint32_t>(modes.src_stride[m]);
    piece += static_cast<std::int32_t>(digit * modes.piece_step[m]);
    if (modes.piece_step[m] != 0)
      piece_src += src;
    else
      inside += static_cast<std::int32_t>(src);
  }
  return packed_piece_base(a, piece, piece_src) + inside;
}

/// Entry r of the row table.
RESTRIDE_HD constexpr PackedSum packed_row_entry(const PackedArgs& a, std::uint32_t row) {
  return packed_sum(a.row_modes, row);
}

}  // namespace restride::cuda
