// What the kernels of tile/unaligned_chains share: a tile's lines on their way into shared memory, the tables of where
// rows lie, and the units of a word of dst. `Op` is Move (device.cuh) or Convert (cast/pairs.cuh).
#pragma once

#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/tile/unaligned_chains_map.h"

namespace restride::cuda::unaligned {

/// Bytes that change sides in registers.
template <class Op>
inline constexpr bool kInPatches = kMoves<Op>&& Op::kDst == 1;
template <class Op>
inline constexpr int kStartCopies = start_copies(Op::kDst, !kMoves<Op>);

/// The words of a line that a tile reads.
struct alignas(16) LineEntry {
  const char* from;  ///< the first of them
  std::uint32_t to;  ///< where in shared memory the line's first byte goes, which is in that word
  std::int32_t words;
};

/// A row of dst in the tile.
struct alignas(16) RowEntry {
  char* to;          ///< its first word; the first whole one of a run's row of bytes that are moved
  std::uint32_t at;  ///< of these: the word's first byte in shared memory; of other units: the table of where they are
  std::int32_t first;  ///< the word's first byte, counted from the chain's; of a run's row of bytes `run_row_bytes`
};

/// Everything that a block's steps want to know.
struct Here {
  TilePlace place;
  UnalignedWindow window;
  char* dst;         ///< unit 0 along dst's chain, row 0 of src's
  const char* from;  ///< line 0 of src, the tile's first unit of src's chain
  std::uint32_t rooms, starts;
  LineEntry* lines;
  RowEntry* rows;
  int s_count;
};

/// base + the low or the high half of `pair`, by one instruction.
__device__ inline std::uint32_t add_half(std::uint32_t base, std::uint32_t pair, bool high) {
  return __dp2a_lo(pair, high ? 0x0100u : 0x0001u, base);
}

/// Notes `bytes` of src from `first` on as a line; true where every word that covers it lies in the source.
__device__ inline bool put_line(const UnalignedChainArgs& c, const Here& h, const char* src, int line,
                                const char* first, int bytes, std::int32_t to) {
  const int low = nibble(first), words = (low + bytes + 15) / 16;
  h.lines[line] = {first - low, h.rooms + to, words};
  return first - low >= src + c.tile.src_first && first - low + words * 16 <= src + c.tile.src_last;
}

/// Notes where row `row` of src starts, counted from the rooms.
template <class Op>
__device__ inline void put_start(const UnalignedChainArgs& c, const Here& h, int row, std::int32_t start) {
  const int size = start_entries(c);
#pragma unroll
  for (int copy = 0; copy < kStartCopies<Op>; ++copy)
    if (row >= copy)
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(h.starts + (copy * size + row - copy) * 2),
                   "h"(static_cast<std::uint16_t>(start))
                   : "memory");
}

/// True where every word that covers a line of this thread's lies in the source. Where a line is one row, its start is
/// noted too; elsewhere `fill_starts` does that.
template <class Op>
__device__ inline bool fill_lines(const UnalignedChainArgs& c, const Here& h, const char* src) {
  const auto line_at = [&](int line) {
    return h.from + chain_offset(c.src_lines, static_cast<std::uint32_t>(h.window.line + line));
  };
  const int s_bytes = h.s_count * Op::kSrc;
  bool inside = true;
  if (c.line_rows.divisor > 1) {
#pragma unroll 1
    for (int line = threadIdx.x; line < h.window.lines; line += blockDim.x) {
      const char* const at = line_at(line);
      const UnalignedSpan span = unaligned_span(c, h.window, line, s_bytes);
      const std::int32_t to = unaligned_line_base(c, h.window, line) + nibble(at) + span.first;
      inside = put_line(c, h, src, line, at + span.first, span.last - span.first, to) && inside;
    }
    return inside;
  }
#pragma unroll 1
  for (int row = threadIdx.x; row < unaligned_rows(c); row += blockDim.x) {
    const UnalignedRow at = unaligned_row(c, h.window, h.place, row);
    std::int32_t start = 0;
    if (at.inside) {
      const char* const first = line_at(at.line);
      const std::int32_t to = unaligned_line_base(c, h.window, at.line) + nibble(first);
      if (at.behind == 0) inside = put_line(c, h, src, at.line, first, s_bytes, to) && inside;
      start = to + at.behind * Op::kSrc;
    }
    put_start<Op>(c, h, row, start);
  }
  return inside;
}

__device__ inline void fill_runs(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int run = threadIdx.x; run < unaligned_runs(c, h.s_count); run += blockDim.x)
    h.rows[run].to = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + run_row(c, run, 0)));
}

/// The table of where the units of a word lie that begins at unit `d` of a row of dst.
template <class Op>
__device__ inline std::uint32_t found_at(const UnalignedChainArgs& c, const Here& h, int d) {
  const int copy = d % kStartCopies<Op>;
  return h.starts + (copy * start_entries(c) + d - copy) * 2;
}

template <class Op>
__device__ inline void fill_rows(const UnalignedChainArgs& c, const Here& h) {
  const TileArgs& a = c.tile;
#pragma unroll 1
  for (int s = threadIdx.x; s < h.s_count; s += blockDim.x) {
    char* const row = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + s));
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & a.skew_mask);
    const int first = h.place.d * Op::kDst - skew, ahead = a.halo * Op::kDst - skew;
    const std::uint32_t at =
        kInPatches<Op> ? h.rooms + transposed_line(c, s) + ahead : found_at<Op>(c, h, ahead / Op::kDst);
    h.rows[s] = {row + first, at, first};
  }
}

/// Words of all lines, on their way to shared memory. A thread has the same word of several lines; where lines have
/// more words than a block has threads, several words of each.
template <bool inside>
__device__ inline void load_lines(const UnalignedChainArgs& c, const Here& h, const char* src) {
  constexpr int kBatch = 4;  // lines whose entries a thread reads at once
  const int at_once = c.lines_at_once, last = h.window.lines - 1;
  const UnalignedLoad first = unaligned_load(c, static_cast<int>(threadIdx.x));
  const std::uint32_t entries = shared_address(h.lines);
  if (first.line >= at_once) return;
  const auto load = [&](const uint4& entry, int index, bool wanted) {
    const char* const from =
        reinterpret_cast<const char*>((static_cast<std::uint64_t>(entry.y) << 32 | entry.x) + index * 16);
    const std::uint32_t to = (entry.z & ~15u) + index * 16;
    if constexpr (inside)
      copy_word_if(wanted, to, from);
    else if (wanted)
      stage_word<true>(to, from, src + c.tile.src_first, src + c.tile.src_last);
  };
#pragma unroll 1
  for (int line = first.line; line <= last; line += kBatch * at_once) {
    uint4 entry[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) entry[i] = load_shared<16>(entries + min(line + i * at_once, last) * 16);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool here = line + i * at_once <= last;
      load(entry[i], first.word, here && first.word < static_cast<int>(entry[i].w));
      if (at_once > 1 || !here) continue;
#pragma unroll 1
      for (int more = first.word + static_cast<int>(blockDim.x); more < static_cast<int>(entry[i].w);
           more += blockDim.x)
        load(entry[i], more, true);
    }
  }
}

/// Where rows of src start that share lines.
template <class Op>
__device__ inline void fill_starts(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int row = threadIdx.x; row < unaligned_rows(c); row += blockDim.x) {
    const UnalignedRow at = unaligned_row(c, h.window, h.place, row);
    std::int32_t start = 0;
    if (at.inside)
      start = static_cast<std::int32_t>(h.lines[at.line].to - h.rooms) + at.row * c.row_bytes -
              unaligned_span(c, h.window, at.line, 0).first + at.behind * Op::kSrc;
    put_start<Op>(c, h, row, start);
  }
}

/// The units of word number `word` of row `s` of dst, as they lie in src.
template <class Op>
__device__ inline void collect_units(const Here& h, std::uint32_t at, int s, int word,
                                     Bits<Op::kSrc> (&units)[16 / Op::kDst]) {
  constexpr int kUnits = 16 / Op::kDst, kPairs = kUnits / 2, kAtOnce = kPairs < 4 ? kPairs : 4;
#pragma unroll
  for (int first = 0; first < kPairs; first += kAtOnce) {
    std::uint32_t pairs[kAtOnce];
    split<4, kAtOnce>(load_shared<kAtOnce * 4>(at + (word * kPairs + first) * 4), pairs);
#pragma unroll
    for (int j = 0; j < 2 * kAtOnce; ++j)
      units[2 * first + j] = load_shared<Op::kSrc>(add_half(h.rooms + s * Op::kSrc, pairs[j / 2], j % 2 != 0));
  }
}

/// Finds the block's tile, has its lines on their way to shared memory, and notes where rows of src start there.
template <class Op>
__device__ inline Here load_tile(const UnalignedChainArgs& c, char* shared, char* dst, const char* src) {
  const TileArgs& a = c.tile;
  const UnalignedTables tables = unaligned_tables(c, Op::kDst, !kMoves<Op>);
  Here h;
  h.place = tile_place(a, blockIdx.x);
  h.window = unaligned_window(c, h.place);
  const Offsets batch = offsets(a.batch, h.place.batch);
  h.dst = dst + a.dst_offset + batch.dst;
  h.from = src + a.src_offset + batch.src + static_cast<std::int64_t>(h.place.s) * Op::kSrc;
  h.rooms = shared_address(shared);
  h.starts = h.rooms + tables.starts;
  h.lines = reinterpret_cast<LineEntry*>(shared + tables.lines);
  h.rows = reinterpret_cast<RowEntry*>(shared + tables.rows);
  h.s_count = min(a.tile_s, a.s_extent - h.place.s);
  if (__syncthreads_and(fill_lines<Op>(c, h, src)))
    load_lines<true>(c, h, src);
  else
    load_lines<false>(c, h, src);
  if (c.line_rows.divisor > 1) fill_starts<Op>(c, h);
  return h;
}

}  // namespace restride::cuda::unaligned
