// A tile of packed in shared memory: the tables by which units are found, how threads walk over words, and loading.
#pragma once

#include "src/cuda/device.cuh"
#include "src/cuda/packed/staged_map.h"

namespace restride::cuda {

struct alignas(16) RowEntry {
  std::int64_t dst;
  std::int32_t shared;
  std::int32_t row;  ///< its number: sorted rows are not in their order
};
struct alignas(16) PieceEntry {
  std::int64_t src;
  std::int32_t shared, unused;
};

inline constexpr int kNoRow = 1 << 30;

/// The tables, behind the tile in shared memory.
struct Tables {
  RowEntry* rows;
  PieceEntry* pieces;
  std::uint16_t* run;  // a.run_copies tables of `run_size` entries
  int run_size;
  std::uint16_t* rank;  // of a row among those that start like it, where rows are sorted

  __device__ Tables(const PackedArgs& a, char* shared) {
    char* at = shared + a.tile_bytes;
    pieces = reinterpret_cast<PieceEntry*>(at);
    at += a.pieces * sizeof(PieceEntry);
    rows = reinterpret_cast<RowEntry*>(at);
    if (a.kind != PackedKind::kFlat) at += packed_row_table(a) * sizeof(RowEntry);
    run = reinterpret_cast<std::uint16_t*>(at);
    run_size = a.run_table;
    rank = run + run_size * a.run_copies;
  }

  /// Counts the rows by where they start in a word; `starts` has 16 places, all 0.
  __device__ void count_rows(const PackedArgs& a, int* starts) const {
    const int entries = packed_row_table(a);
#pragma unroll 1
    for (int i = threadIdx.x; i < entries; i += blockDim.x) {
      rows[i].row = kNoRow;
      if (i < a.rows) rank[i] = static_cast<std::uint16_t>(atomicAdd(&starts[packed_row_entry(a, i).dst & 15], 1));
    }
  }

  /// What loading needs.
  __device__ void fill_pieces(const PackedArgs& a) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < a.pieces; i += blockDim.x) {
      const PackedSum sum = packed_sum(a.piece_modes, i);
      pieces[i] = {sum.src, packed_piece_base(a, i, sum.src), 0};
    }
  }

  /// What storing needs.
  template <PackedKind kind, int kUnit>
  __device__ void fill_runs(const PackedArgs& a) const {
    if constexpr (kind != PackedKind::kFlat) {
#pragma unroll 1
      for (int i = threadIdx.x; i < a.rows; i += blockDim.x) {
        const PackedSum sum = packed_row_entry(a, i);
        int at = i;
        if constexpr (kind == PackedKind::kSorted) at = packed_sorted_place(a, static_cast<int>(sum.dst & 15), rank[i]);
        rows[at] = {sum.dst, sum.inside, i};
      }
    }
    constexpr int kGap = packed_run_gap(kind, kUnit), kCopies = packed_run_copies(kind, kUnit);
    const int known = a.run_units + (kind == PackedKind::kFlat ? kRunPad : 0);
#pragma unroll 1
    for (int i = threadIdx.x; i < a.run_units + 2 * kRunPad; i += blockDim.x) {
      const int unit = i - kRunPad;
      const auto entry = static_cast<std::uint16_t>(unit >= 0 && unit < known ? packed_run_entry(a, unit) : 0);
#pragma unroll
      for (int copy = 0; copy < kCopies; ++copy)
        if (i >= copy) run[copy * run_size + packed_run_place(i - copy, kUnit, kGap)] = entry;
    }
  }

  /// Entries of `count` units of a word that starts at `unit`, from its unit number `part` on; with up to 4 bytes of
  /// units. Where the table has copies they are one access.
  template <PackedKind kind, int kUnit, int count>
  __device__ void entries(int unit, int part, std::uint32_t (&entry)[count]) const {
    constexpr int kCopies = packed_run_copies(kind, kUnit), kGap = packed_run_gap(kind, kUnit);
    if constexpr (kGap != 0) {
      constexpr int kUnits = 16 / kUnit;
      const int first = unit + kRunPad, before_gap = kUnits - (first & (kUnits - 1));
      const std::uint16_t* const at = run + packed_run_place(first, kUnit, kGap);
#pragma unroll
      for (int j = 0; j < count; ++j) entry[j] = at[part + j + (part + j < before_gap ? 0 : kGap)];
    } else if constexpr (kCopies > 1 && count > 1) {
      unit += part;
      const int copy = unit & (kCopies - 1);
      split_entries(run + copy * run_size + (unit - copy + kRunPad), entry);
    } else {
      const std::uint16_t* const at = run + (unit + part + kRunPad);
#pragma unroll
      for (int j = 0; j < count; ++j) entry[j] = at[j];
    }
  }

  /// True where no gap lies among the entries of a word that starts at `unit`, so that `entries_at_once` finds them.
  /// Runs start alike where a table has gaps, so all lanes of a tile go one way.
  template <PackedKind kind, int kUnit>
  static __device__ bool whole_words(int unit) {
    return packed_run_gap(kind, kUnit) != 0 && ((unit + kRunPad) & (16 / kUnit - 1)) == 0;
  }
  /// The same as `entries`, two by one access.
  template <PackedKind kind, int kUnit, int count>
  __device__ void entries_at_once(int unit, int part, std::uint32_t (&entry)[count]) const {
    static_assert(count % 2 == 0 && packed_run_gap(kind, kUnit) % 2 == 0, "pairs of entries lie on 4 bytes");
    const std::uint16_t* const at = run + (packed_run_place(unit + kRunPad, kUnit, packed_run_gap(kind, kUnit)) + part);
#pragma unroll
    for (int j = 0; j < count; j += 2) {
      std::uint32_t pair[2];
      split_entries(at + j, pair);
      entry[j] = pair[0], entry[j + 1] = pair[1];
    }
  }

 private:
  /// `count` entries that lie on as many bytes as they take.
  template <int count>
  static __device__ void split_entries(const std::uint16_t* at, std::uint32_t (&entry)[count]) {
    Bits<2> part[count];
    split<2, count>(load<2 * count>(at), part);
#pragma unroll
    for (int j = 0; j < count; ++j) entry[j] = part[j];
  }
};

/// Runs `body(line)` for this thread's lines, `at_once` of them side by side, and `begin(word)` whenever the word is
/// another one.
template <int at_once = 2, class Begin, class Body>
__device__ inline void walk(const PackedLattice& l, Begin begin, Body body) {
  const PackedStep at = packed_step(l, 0, threadIdx.x);
  const int passes = static_cast<int>(l.passes.divisor), lines = l.lines;
  int word = at.word;
#pragma unroll 1
  for (int step = 0; step < l.steps; step += passes, word += static_cast<int>(l.across.divisor)) {
    begin(word);
    int line = at.line;
#pragma unroll(at_once)
    for (int pass = 0; pass < passes; ++pass, line += lines) body(line);
  }
}

/// A word of which bytes outside [first, last) must not be read.
static __device__ __noinline__ void stage_edge(std::uint32_t to, const char* from, const char* first,
                                               const char* last) {
#pragma unroll 1
  for (int i = 0; i < 16; ++i)
    if (from + i >= first && from + i < last) {
      const std::uint32_t byte = *reinterpret_cast<const unsigned char*>(from + i);
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(to + i), "r"(byte) : "memory");
    }
}

/// Keeps the compiler from working an address out again from its terms at every use.
template <class T>
__device__ inline T* settled(T* p) {
  asm volatile("" : "+l"(p));
  return p;
}

/// An entry as one access.
template <class Entry>
__device__ inline Entry look(const Entry* table, int i) {
  const uint4 v = reinterpret_cast<const uint4*>(table)[i];
  return {static_cast<std::int64_t>(static_cast<std::uint64_t>(v.y) << 32 | v.x), static_cast<std::int32_t>(v.z),
          static_cast<std::int32_t>(v.w)};
}

template <bool swizzled, bool inside>
__device__ inline void load_pieces(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                   std::uint32_t buffer, const char* src) {
  const char* const from = settled(src + place.src);
  const int low = nibble(from);
  const int piece_bytes = place.piece_bytes, pieces = place.pieces;
  int start = 0;
  walk(
      a.load, [&](int word) { start = word * 16; },
      [&](int line) {
        if (line >= pieces) return;
        const PieceEntry entry = look(tables.pieces, line);
        const int off = start - ((low + static_cast<int>(entry.src)) & 15);
        if (off >= piece_bytes) return;
        const std::uint32_t linear = buffer + low + entry.shared + off;
        const std::uint32_t to = swizzled ? packed_swizzle(linear, a.swizzle_shift) : linear;
        const char* const at = from + (entry.src + off);
        if (inside || (at >= src + a.src_first && at + 16 <= src + a.src_last))
          copy_word<true, true>(to, at);
        else
          stage_edge(to, at, src + a.src_first, src + a.src_last);
      });
}

/// The tile's pieces on their way into shared memory, each congruent to its address modulo 16.
template <bool swizzled>
__device__ inline void load_tile(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                 std::uint32_t buffer, const char* src) {
  if (place.inside)
    load_pieces<swizzled, true>(a, tables, place, buffer, src);
  else
    load_pieces<swizzled, false>(a, tables, place, buffer, src);
}

}  // namespace restride::cuda
