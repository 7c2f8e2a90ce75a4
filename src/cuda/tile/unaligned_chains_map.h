// The index map of tile's kernel for chains whose rows start anywhere: the tile of map.h whose two modes are chains,
// with an edge that keeps to sectors of dst.
//
// A tile is a window of dst's chain, a little more of it (the halo, for every row of dst begins elsewhere in a sector),
// by some of src's chain. What it reads are lines: indices of dst's chain that follow each other in src make up one
// line, where src's chain is whole in the tile; elsewhere an index is a line. Lines lie in shared memory congruent to
// their addresses modulo 16, and a table says where each index's row begins.
//
// Bytes change sides in registers: a lane takes 12 of each of 4 rows of src and, once all lanes have theirs, writes
// them as words into rows of dst, which take the place of src's rows. From there they leave. Wider units, and units
// that are converted, are collected from the rows of src one by one.
#pragma once

#include <cstdint>

#include "src/cuda/tile/chains_map.h"

namespace restride::cuda {

inline constexpr int kPatchRows = 4;    ///< rows of src in a lane's patch
inline constexpr int kPatchBytes = 12;  ///< of each
inline constexpr int kPatchLanes = 4;   ///< lanes side by side along rows of dst
inline constexpr int kFewPatches = 2;   ///< that a lane holds of windows and of small runs
inline constexpr int kMostPatches = 3;  ///< of larger runs
inline constexpr int kMostUnalignedThreads = 256;
/// Blocks of so many threads whose registers a multiprocessor has room for. `patches`: what a lane of bytes holds.
RESTRIDE_HD constexpr int unaligned_blocks(int unit, int patches) {
  return unit > 1 ? 6 : patches <= kFewPatches ? 5 : 4;
}
/// The same where units are converted: a lane holds those of a word of dst, as they lie in src.
RESTRIDE_HD constexpr int unaligned_cast_blocks(int dst_unit, int src_unit) {
  return kWordBytes / dst_unit * src_unit > 32 || dst_unit == 1 ? 4 : 6;
}

/// What a tile has of dst.
enum class UnalignedKind : std::uint8_t {
  kWindows,  ///< the same part of dst's chain, but for a skew, of several rows
  kRuns,     ///< short rows that follow each other, all of dst's chain
};

struct UnalignedChainArgs {
  TileArgs tile;    ///< no pitches; of bytes in patches, tile_d and halo are multiples of kPatchRows * kPatchLanes
  Chain src_lines;  ///< where in src each line starts
  Chain dst_rows;   ///< src's chain: where in dst the row of each of its indices starts
  base::FastDiv line_rows;     ///< indices of dst's chain in a line
  std::int32_t row_bytes = 0;  ///< of src from one of them to the next
  std::int32_t line_pitch = 0,
               line_pad = 0;  ///< bytes of shared memory from line to line, and more every pad_lines
  std::int32_t pad_lines = 1;
  base::FastDiv line_words;        ///< words that cover a line wherever it starts
  std::int32_t lines_at_once = 1;  ///< lines whose words all threads of a block together read at once
  base::FastDiv patches;           ///< patches along a row of src
  std::int32_t lines = 0;          ///< that a tile reads at most
  std::int32_t src_room = 0;       ///< bytes of shared memory for them
  std::int32_t dst_room = 0;       ///< and for rows of dst, in the same place
  std::int32_t dst_pitch = 0;      ///< there, from row to row
  base::FastDiv store_words;    ///< words of a row of dst in a tile, or of a run; in runs of bytes that begin in a row
  std::int32_t store_rows = 1;  ///< bytes in patches: rows whose words all threads of a block together store at once
  std::int32_t threads = 256;
  /// Where short rows of dst follow each other they are runs, and all of dst's chain lies in a tile; 0: no runs.
  std::int32_t run_rows = 0;             ///< rows of a run
  std::int32_t run_step = 1;             ///< indices of src's chain from one of them to the next
  std::int32_t run_gap = 0;              ///< and from a run's first row to the next run's
  std::int32_t runs = 0, last_runs = 0;  ///< of a tile, and of the last one along src's chain
  std::int32_t last_rows = 0;            ///< rows of the last run there
  base::FastDiv run_units;               ///< units of a row
};

/// What a tile reads: indices [first, last) of dst's chain. `cut`: offset of the first index in its line, rounded down
/// to 16 bytes.
struct UnalignedWindow {
  std::int32_t first = 0, last = 0;
  std::int32_t line = 0, lines = 0;
  std::int32_t cut = 0;
};

RESTRIDE_HD constexpr UnalignedWindow unaligned_window(const UnalignedChainArgs& c, const TilePlace& place) {
  const TileArgs& a = c.tile;
  UnalignedWindow w;
  w.first = place.d > a.halo ? place.d - a.halo : 0;
  w.last = place.d + a.tile_d < a.d_extent ? place.d + a.tile_d : a.d_extent;
  w.line = static_cast<std::int32_t>(c.line_rows.quotient(static_cast<std::uint32_t>(w.first)));
  w.lines = static_cast<std::int32_t>(c.line_rows.quotient(static_cast<std::uint32_t>(w.last - 1))) + 1 - w.line;
  w.cut = (w.first - w.line * static_cast<std::int32_t>(c.line_rows.divisor)) * c.row_bytes & ~15;
  return w;
}

/// Place in shared memory of the row that begins the window's line number `line`, less the low four bits of its
/// address.
RESTRIDE_HD constexpr std::int32_t unaligned_line_base(const UnalignedChainArgs& c, const UnalignedWindow& w,
                                                       std::int32_t line) {
  return line * c.line_pitch + line / c.pad_lines * c.line_pad - w.cut;
}

/// Bytes [first, last) of the window's line number `line`, counted from its start, that a tile reads; a row of src has
/// `s_bytes` inside.
struct UnalignedSpan {
  std::int32_t first = 0, last = 0;
};
RESTRIDE_HD constexpr UnalignedSpan unaligned_span(const UnalignedChainArgs& c, const UnalignedWindow& w,
                                                   std::int32_t line, std::int32_t s_bytes) {
  const auto rows = static_cast<std::int32_t>(c.line_rows.divisor);
  const std::int32_t begin = (w.line + line) * rows;
  const std::int32_t low = w.first > begin ? w.first - begin : 0;
  const std::int32_t high = w.last < begin + rows ? w.last - begin : rows;
  return {low * c.row_bytes, (high - 1) * c.row_bytes + s_bytes};
}

/// Word `word` of a window's line number `line`: the first that a thread reads. Then come the same words of lines
/// `lines_at_once` further on each; where that is 1, also words `threads` further on each.
struct UnalignedLoad {
  std::int32_t line = 0, word = 0;
};
RESTRIDE_HD constexpr UnalignedLoad unaligned_load(const UnalignedChainArgs& c, std::int32_t thread) {
  const auto line = static_cast<std::int32_t>(c.line_words.quotient(static_cast<std::uint32_t>(thread)));
  return {line, thread - line * static_cast<std::int32_t>(c.line_words.divisor)};
}

/// Index of dst's chain `row` rows behind the start of a tile's halo: its line within the window, and its row there.
struct UnalignedRow {
  std::int32_t line = 0, row = 0;
  std::int32_t behind = 0;  ///< indices of src's chain that it is further on
  bool inside = false;
};
RESTRIDE_HD constexpr UnalignedRow unaligned_row(const UnalignedChainArgs& c, const UnalignedWindow& w,
                                                 const TilePlace& place, std::int32_t row) {
  std::int32_t d = place.d - c.tile.halo + row, behind = 0;
  if (c.run_rows != 0) {  // the rows after the last of dst's chain are the first ones, a row of dst further on
    behind = static_cast<std::int32_t>(c.run_units.quotient(static_cast<std::uint32_t>(d)));
    d -= behind * c.tile.d_extent;
  }
  if (d < w.first || d >= w.last) return {};
  const auto line = static_cast<std::int32_t>(c.line_rows.quotient(static_cast<std::uint32_t>(d)));
  return {line - w.line, d - line * static_cast<std::int32_t>(c.line_rows.divisor), behind * c.run_step, true};
}

/// A lane's patch number `item` of a tile: its first row of src, counted from the halo's, and its first row of dst.
struct PatchPlace {
  std::int32_t d = 0, s = 0;
};
RESTRIDE_HD constexpr PatchPlace patch_place(const UnalignedChainArgs& c, std::int32_t item) {
  const auto column = static_cast<std::uint32_t>(item / kPatchLanes);
  const std::uint32_t group = c.patches.quotient(column);
  return {(static_cast<std::int32_t>(group) * kPatchLanes + item % kPatchLanes) * kPatchRows,
          static_cast<std::int32_t>(column - group * c.patches.divisor) * kPatchBytes};
}

/// Where row `s` of dst starts in its room. What lies between patches puts lanes that write different ones into
/// different banks.
RESTRIDE_HD constexpr std::int32_t transposed_line(const UnalignedChainArgs& c, std::int32_t s) {
  return s * c.dst_pitch + s / kPatchBytes * (kPatchLanes * kPatchRows);
}

/// Indices of dst's chain that a tile reads, its halo included.
RESTRIDE_HD constexpr std::int32_t unaligned_rows(const UnalignedChainArgs& c) { return c.tile.halo + c.tile.tile_d; }

/// Tables of where rows of src start, each a row ahead of the one before it, so that a word's units, which begin at any
/// row, are found by one access, 16 by two. Bytes that are moved need one table: patches start at multiples of 4 rows.
RESTRIDE_HD constexpr std::int32_t start_copies(int dst_unit, bool cast) {
  return dst_unit > 1 ? kWordBytes / dst_unit : cast ? kWordBytes / 2 : 1;
}
/// Entries of one of them, of 2 bytes each.
RESTRIDE_HD constexpr std::int32_t start_entries(const UnalignedChainArgs& c) {
  return (unaligned_rows(c) + 7) / 8 * 8 + 8;
}

/// Patches of a tile: no more than kFewPatches for each of its threads, of runs than kMostPatches.
RESTRIDE_HD constexpr std::int32_t unaligned_patches(const UnalignedChainArgs& c) {
  return unaligned_rows(c) / kPatchRows * static_cast<std::int32_t>(c.patches.divisor);
}

/// Where the tables lie in shared memory: where each row of src starts there; lines and rows of dst, 16 bytes each.
struct UnalignedTables {
  std::int32_t starts = 0, lines = 0, rows = 0, end = 0;
};
RESTRIDE_HD constexpr UnalignedTables unaligned_tables(const UnalignedChainArgs& c, int dst_unit, bool cast) {
  UnalignedTables t;
  t.starts = c.src_room > c.dst_room ? c.src_room : c.dst_room;
  t.lines = t.starts + start_copies(dst_unit, cast) * start_entries(c) * 2;
  t.rows = t.lines + c.lines * 16;
  t.end = t.rows + c.tile.tile_s * 16;
  return t;
}

/// Number of runs in a tile with `s_count` rows of dst. If rows join along the chain's last mode, each index of the
/// modes before it starts a run.
RESTRIDE_HD constexpr std::int32_t unaligned_runs(const UnalignedChainArgs& c, std::int32_t s_count) {
  return s_count == c.tile.tile_s ? c.runs : c.last_runs;
}
/// Rows of one of them.
RESTRIDE_HD constexpr std::int32_t unaligned_run_rows(const UnalignedChainArgs& c, std::int32_t s_count,
                                                      std::int32_t run) {
  const bool all = s_count == c.tile.tile_s || (c.run_step == 1 && run + 1 < c.last_runs);
  return all ? c.run_rows : c.last_rows;
}
/// Index of src's chain, counted from the tile's, of row `row` of a run.
RESTRIDE_HD constexpr std::int32_t run_row(const UnalignedChainArgs& c, std::int32_t run, std::int32_t row) {
  return run * c.run_gap + row * c.run_step;
}

/// What a thread stores of bytes: word `word` of row `row`, then of the rows `store_rows` further on each; of a run's
/// row the words that begin in it. Threads whose row is `store_rows` store none.
struct UnalignedStore {
  std::int32_t row = 0, word = 0;
};
RESTRIDE_HD constexpr UnalignedStore unaligned_store(const UnalignedChainArgs& c, std::int32_t thread) {
  const auto row = static_cast<std::int32_t>(c.store_words.quotient(static_cast<std::uint32_t>(thread)));
  return {row, thread - row * static_cast<std::int32_t>(c.store_words.divisor)};
}
/// Bytes of row `s` of a run of bytes from its byte `ahead` on in which words begin that end inside the run.
RESTRIDE_HD constexpr std::int32_t run_row_bytes(const UnalignedChainArgs& c, std::int32_t s_count, std::int32_t s,
                                                 std::int32_t ahead) {
  const std::int32_t run = c.run_step > 1 ? s % c.run_step : s / c.run_rows;
  const std::int32_t row = c.run_step > 1 ? s / c.run_step : s - run * c.run_rows;
  const std::int32_t last = (unaligned_run_rows(c, s_count, run) - row) * c.tile.d_extent - (kWordBytes - 1);
  const std::int32_t bytes = (last < c.tile.d_extent ? last : c.tile.d_extent) - ahead;
  return bytes > 0 ? bytes : 0;
}

/// Of a unit of a run: its row of dst in the run, and its place there.
struct RunPlace {
  std::int32_t s = 0, d = 0;
};
RESTRIDE_HD constexpr RunPlace run_place(const UnalignedChainArgs& c, std::int32_t unit) {
  const auto s = static_cast<std::int32_t>(c.run_units.quotient(static_cast<std::uint32_t>(unit)));
  return {s, unit - s * c.tile.d_extent};
}

/// Units [first, last) of a word that are stored; none where first >= last. The word begins at byte `byte` of a row of
/// dst, or of a run.
struct CastWord {
  std::int32_t byte = 0, first = 0, last = 0;
};
/// Word `word` of a window's row that has `row_bytes` in all; `begin`: the window's first byte in it.
RESTRIDE_HD constexpr CastWord cast_row_word(std::int32_t begin, std::int32_t row_bytes, std::int32_t word, int unit) {
  const std::int32_t byte = begin + word * kWordBytes, left = row_bytes - byte;
  return {byte, byte < 0 ? -byte / unit : 0, (left < kWordBytes ? left : kWordBytes) / unit};
}
/// Word `word` of a run of `bytes`, which starts `low` bytes behind a word: the first is what comes before its whole
/// ones.
RESTRIDE_HD constexpr CastWord cast_run_word(std::int32_t low, std::int32_t bytes, std::int32_t word, int unit) {
  const std::int32_t head = -low & (kWordBytes - 1), byte = word == 0 ? 0 : head + (word - 1) * kWordBytes;
  const std::int32_t most = word == 0 ? head : kWordBytes, left = bytes - byte;
  return {byte, 0, (left < most ? left : most) / unit};
}

}  // namespace restride::cuda
