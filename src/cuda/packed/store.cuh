// A tile of packed on its way into dst, by how its runs start: see PackedKind. `base` is where its first piece
// lies in shared memory, `to` where its first run goes. `Op` is Move (device.cuh) or Convert (cast/pairs.cuh).
#pragma once

#include "src/cuda/packed/collect.cuh"
#include "src/cuda/packed/tables.cuh"

namespace restride::cuda {

/// Words that a lane has under way side by side. Code that converts has a branch for every pair of dtypes: twice as
/// much of it brings nothing together.
template <class Op>
inline constexpr int kWordsAtOnce = kMoves<Op> ? 2 : 1;

/// The first unit of a run's word number `word`, counted from the run's; the run goes to `run`.
template <class Op>
__device__ inline int first_unit(int word, const char* run) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int start = nibble(run) / Op::kDst;
  return word * kUnits + (kEndsApart<Op> ? packed_head(start, kUnits) : -start);
}

/// True for words that are whole, or where those that are not are stored with the others, not all behind the run.
template <class Op>
__device__ inline bool is_wanted(int unit, int run_units) {
  return unit + (kEndsApart<Op> ? Shape<Op>::kUnits - 1 : 0) < run_units;
}

/// What belongs to the run of a word that is wanted.
template <class Op>
__device__ inline void store_wanted(char* at, const Bits<16>& value, int unit, int run_units) {
  if constexpr (kEndsApart<Op>)
    store<16>(at, value);
  else
    store_word<Op>(at, value, unit, run_units);
}

/// A tile whose runs all start alike: a lane's places in its run serve all its rows.
template <class Op, PackedKind kind>
__device__ inline void store_fixed(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                   std::uint32_t base, char* to) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int run_units = place.run_units, rows = place.rows;
  constexpr bool kSwizzled = packed_swizzles(kind);
  const PackedRotation rotation = kSwizzled ? a.rotation : PackedRotation{};
  int unit = 0;
  char* mine = to;
  std::uint32_t places[kUnits];
  walk(
      a.store,
      [&](int word) {
        unit = first_unit<Op>(word, to);
        mine = settled(to + unit * Op::kDst);
        if (is_wanted<Op>(unit, run_units)) look_up<Op, kind>(tables, unit, rotation, places);
      },
      [&](int row) {
        if (row >= rows || !is_wanted<Op>(unit, run_units)) return;
        const RowEntry entry = look(tables.rows, row);
        const Bits<16> value = collect<Op, kSwizzled>(a, base + entry.shared, rotation, places);
        store_wanted<Op>(mine + entry.dst, value, unit, run_units);
      });
}

/// A tile whose runs start anywhere.
template <class Op>
__device__ inline void store_loose(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                   std::uint32_t base, char* to) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int run_units = place.run_units, rows = place.rows;
  int word = 0;
  walk<kWordsAtOnce<Op>>(
      a.store, [&](int next) { word = next; },
      [&](int row) {
        if (row >= rows) return;
        const RowEntry entry = look(tables.rows, row);
        const int unit = first_unit<Op>(word, to + entry.dst);
        if (!is_wanted<Op>(unit, run_units)) return;
        std::uint32_t places[kUnits];
        look_up<Op, PackedKind::kLoose>(tables, unit, a.rotation, places);
        const Bits<16> value = collect<Op, true>(a, base + entry.shared, a.rotation, places);
        store_wanted<Op>(to + (entry.dst + unit * Op::kDst), value, unit, run_units);
      });
}

/// A tile whose runs start anywhere, its rows sorted by where: a lane's rows all start alike.
template <class Op>
__device__ inline void store_sorted(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                    std::uint32_t base, char* to) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int run_units = place.run_units, rows = place.rows;
  const PackedStep at = packed_step(a.store, 0, threadIdx.x);
  if (at.line >= a.store.lines) return;
  const int passes = static_cast<int>(a.store.passes.divisor), first = at.line * passes;
  int word = at.word;
#pragma unroll 1
  for (int step = 0; step < a.store.steps; step += passes, word += static_cast<int>(a.store.across.divisor)) {
    std::uint32_t places[kUnits];
    bool known = false;
#pragma unroll 1
    for (int line = first; line < first + passes; ++line) {
      const RowEntry entry = look(tables.rows, line);
      if (entry.row >= rows) continue;
      char* const row = to + entry.dst;
      const int unit = first_unit<Op>(word, row);
      if (!is_wanted<Op>(unit, run_units)) break;
      if (!known) look_up<Op, PackedKind::kSorted>(tables, unit, a.rotation, places);
      known = true;
      const Bits<16> value = collect<Op, false>(a, base + entry.shared, a.rotation, places);
      store_wanted<Op>(row + unit * Op::kDst, value, unit, run_units);
    }
  }
}

/// A tile whose runs follow each other; of words that are converted.
template <class Op>
__device__ inline void store_flat(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                  std::uint32_t base, char* to) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int units = place.rows * a.run_units;
#pragma unroll(kWordsAtOnce <Op>)
  for (int unit = static_cast<int>(threadIdx.x) * kUnits - nibble(to) / Op::kDst; unit < units;
       unit += kPackedThreads * kUnits) {
    const int run = static_cast<int>(a.flat_run.quotient(max(unit, 0)));
    std::uint32_t places[kUnits];
    look_up<Op, PackedKind::kFlat>(tables, unit - run * static_cast<int>(a.flat_run.divisor), a.rotation, places);
    const Bits<16> value = collect<Op, false>(a, base + run * a.flat_step, a.rotation, places);
    store_word<Op>(to + unit * Op::kDst, value, unit, units);
  }
}

/// The same for words that are only moved: a lane's places serve for its word of all cycles.
template <class Op>
__device__ inline void store_cycles(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                    std::uint32_t base, char* to) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const int units = place.rows * a.run_units;
  const int cycle_units = a.cycles.runs * a.run_units, cycle_step = a.cycles.runs * a.flat_step;
  const int items = a.cycles.together * static_cast<int>(a.cycles.words.divisor);
#pragma unroll 1
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const PackedStep at = packed_cycle_word(a.cycles, item);
    // The first word of a tile that starts off a word belongs to no cycle; its unit is looked up as the run's first.
    const int first = at.word * kUnits - nibble(to) / Op::kDst;
    if (first + at.line * cycle_units >= units) break;
    std::uint32_t places[kUnits];
    const auto find = [&](int unit) {
      const int run = static_cast<int>(a.flat_run.quotient(max(unit, 0)));
      look_up<Op, PackedKind::kFlat>(tables, unit - run * static_cast<int>(a.flat_run.divisor), a.rotation, places);
      return base + run * a.flat_step;
    };
    std::uint32_t from = find(first) + at.line * cycle_step;
#pragma unroll 1
    for (int unit = first + at.line * cycle_units; unit < units;
         unit += a.cycles.together * cycle_units, from += a.cycles.together * cycle_step) {
      if (first < 0) from = find(unit);
      const Bits<16> value = collect<Op, false>(a, from, a.rotation, places);
      store_word<Op>(to + unit * Op::kDst, value, unit, units);
    }
  }
}

/// 4 / kUnit rows at once, which lie side by side in every piece and start alike in dst.
template <int kUnit>
__device__ inline void store_transposed(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                        std::uint32_t base, char* to) {
  constexpr int kUnits = 16 / kUnit;
  constexpr int kAcross = 4 / kUnit;
  const int run_units = place.run_units, rows = place.rows;
  int unit = 0;
  char* mine = to;
  std::uint32_t places[kUnits];
  walk(
      a.store,
      [&](int word) {
        unit = first_unit<Move<kUnit>>(word, to);
        mine = settled(to + unit * kUnit);
        if (is_wanted<Move<kUnit>>(unit, run_units))
          look_up<Move<kUnit>, PackedKind::kTransposed>(tables, unit, a.rotation, places);
      },
      [&](int line) {
        const int r = line * kAcross;
        if (r >= rows || !is_wanted<Move<kUnit>>(unit, run_units)) return;
        const std::uint32_t row_base = base + tables.rows[r].shared;
        std::uint32_t out[kAcross][4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          std::uint32_t in[kAcross], column[kAcross];
#pragma unroll
          for (int j = 0; j < kAcross; ++j)
            in[j] = load_shared<4>(packed_swizzle(row_base + places[w * kAcross + j], a.swizzle_shift));
          transpose_words<kUnit>(in, column);
#pragma unroll
          for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
        }
#pragma unroll
        for (int i = 0; i < kAcross; ++i) {
          if (r + i >= rows) break;
          rotate_back(a.rotation, out[i]);
          const uint4 value = make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]);
          store<16>(mine + tables.rows[r + i].dst, value);
        }
      });
}

/// The words that runs fill in part, 4 bytes a lane; lanes side by side have one word, so that L2 is asked once for
/// what is whole of it.
template <int kUnit, PackedKind kind>
__device__ inline void store_run_ends(const PackedArgs& a, const Tables& tables, const PackedPlace& place,
                                      std::uint32_t base, char* to) {
  constexpr int kUnits = 16 / kUnit, kPart = 4 / kUnit;
  const int run_units = place.run_units;
  if (kind != PackedKind::kLoose && kind != PackedKind::kSorted && nibble(to) == 0 && run_units % kUnits == 0) return;
  const int rows = a.start_step != 0 ? packed_row_table(a) : place.rows;
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * kPackedEndParts; i += blockDim.x) {
    const RowEntry entry = look(tables.rows, i / kPackedEndParts);
    if (entry.row >= place.rows) continue;
    char* const run = to + entry.dst;
    const PackedEnd end = packed_end(nibble(run) / kUnit, run_units, kUnits, i % kPackedEndParts);
    if (end.first >= end.last) continue;
    std::uint32_t places[kPart];
    tables.entries<kind, kUnit>(end.unit, 0, places);
    Bits<kUnit> units[kPart];
#pragma unroll
    for (int j = 0; j < kPart; ++j) {
      const std::uint32_t at = base + entry.shared + places[j];
      units[j] = load_shared<kUnit>(packed_swizzles(kind) ? packed_swizzle(at, a.swizzle_shift) : at);
    }
    store_units<kUnit>(run + end.unit * kUnit, join<kUnit, kPart>(units), end.first - end.unit, end.last - end.unit);
  }
}

}  // namespace restride::cuda
