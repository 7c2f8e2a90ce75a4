// How a lane of packed makes a word of dst: looks its units up in a tile's tables, collects them from shared memory in
// an order of its own, and stores what belongs to the run.
#pragma once

#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/packed/tables.cuh"

namespace restride::cuda {

/// Bytes [first, last) of a 16-byte word at `to`, as few accesses: up to 4 bytes at either end are less than words.
template <int kUnit>
__device__ inline void store_ends(char* to, const uint4& v, int first, int last) {
  const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int w = 0; w < 4; ++w)
    if (first <= 4 * w && 4 * w + 4 <= last) store<4>(to + 4 * w, words[w]);
  if constexpr (kUnit < 4) {
    const auto word_of = [&](int byte) {
      const std::uint32_t low = (byte & 4) != 0 ? v.y : v.x, high = (byte & 4) != 0 ? v.w : v.z;
      return (byte & 8) != 0 ? high : low;
    };
    const bool one_word = first >> 2 == last >> 2;
    const auto rest = [&](int begin, int end) {  // inside one word
      const std::uint32_t word = word_of(begin);
#pragma unroll
      for (int b = 0; b < 4; b += kUnit) {
        const int byte = (begin & ~3) + b;
        if (byte >= begin && byte < end) store<kUnit>(to + byte, static_cast<Bits<kUnit>>(word >> (8 * b)));
      }
    };
    if ((first & 3) != 0) rest(first, one_word ? last : (first | 3) + 1);
    if ((last & 3) != 0 && !(one_word && (first & 3) != 0)) rest(last & ~3, last);
  }
}

/// Units [first, last) of 4 bytes at `to`, as few accesses as may be.
template <int kUnit>
__device__ inline void store_units(char* to, std::uint32_t v, int first, int last) {
  constexpr int kUnits = 4 / kUnit;
  if (last - first == kUnits) {
    store<4>(to, v);
    return;
  }
  const auto store_one = [&](int unit) {
    store<kUnit>(to + unit * kUnit, static_cast<Bits<kUnit>>(v >> (8 * kUnit * unit)));
  };
  if constexpr (kUnit == 2) {
    store_one(first);
  } else {
    if ((first & 1) != 0) store_one(first++);
    if (last - first >= 2) {
      store<2>(to + first, static_cast<Bits<2>>(v >> (8 * first)));
      first += 2;
    }
    if (first < last) store_one(first);
  }
}

/// Units of a word of dst, and how they are collected: in steps, each of which makes up to 4 bytes at once.
template <class Op>
struct Shape {
  static constexpr int kUnits = 16 / Op::kDst;
  static constexpr int kSteps = Op::kDst <= 4 ? 4 : kUnits;
  static constexpr int kPart = kUnits / kSteps;
};

/// The places of a word's units, in the order in which this lane collects them.
template <class Op, PackedKind kind>
__device__ inline void look_up(const Tables& tables, int unit, const PackedRotation& rotation,
                               std::uint32_t (&places)[Shape<Op>::kUnits]) {
  using S = Shape<Op>;
  if constexpr (packed_run_gap(kind, Op::kDst) != 0) {
    if (Tables::whole_words<kind, Op::kDst>(unit)) {
#pragma unroll
      for (int i = 0; i < S::kSteps; ++i) {
        const int step = packed_rotated(threadIdx.x & 31, i, S::kSteps, rotation);
        std::uint32_t part[S::kPart];
        tables.entries_at_once<kind, Op::kDst>(unit, step * S::kPart, part);
#pragma unroll
        for (int j = 0; j < S::kPart; ++j) places[i * S::kPart + j] = part[j];
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < S::kSteps; ++i) {
    const int step = packed_rotated(threadIdx.x & 31, i, S::kSteps, rotation);
    std::uint32_t part[S::kPart];
    tables.entries<kind, Op::kDst>(unit, step * S::kPart, part);
#pragma unroll
    for (int j = 0; j < S::kPart; ++j) places[i * S::kPart + j] = part[j];
  }
}

/// The parts of a word back into order, after `packed_rotated`.
template <class Part, int kSteps>
__device__ inline void rotate_back(const PackedRotation& rotation, Part (&parts)[kSteps]) {
  if (rotation.shift == PackedRotation{}.shift) return;
  const int by = packed_ahead(threadIdx.x & 31, rotation) & (kSteps - 1);
  if constexpr (kSteps == 4) {
    rotate_words(parts, by);
  } else if constexpr (kSteps == 2) {
    const auto first = parts[0], second = parts[1];
    parts[0] = by != 0 ? second : first;
    parts[1] = by != 0 ? first : second;
  }
}

/// A word's units as they lie in src, part by part, in the order of `places`; `base` is where entry 0 of the run lies.
template <class Op, bool swizzled>
__device__ inline void collect_units(const PackedArgs& a, std::uint32_t base,
                                     const std::uint32_t (&places)[Shape<Op>::kUnits],
                                     Bits<Op::kSrc> (&units)[Shape<Op>::kSteps][Shape<Op>::kPart]) {
  using S = Shape<Op>;
#pragma unroll
  for (int i = 0; i < S::kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < S::kPart; ++j) {
      const std::uint32_t at = base + places[i * S::kPart + j];
      units[i][j] = load_shared<Op::kSrc>(swizzled ? packed_swizzle(at, a.swizzle_shift) : at);
    }
  }
}

/// One word of dst, collected unit by unit. Units that are converted are all at hand before their dtypes are asked for:
/// what differs from pair to pair is the conversion alone.
template <class Op, bool swizzled>
__device__ inline Bits<16> collect(const PackedArgs& a, std::uint32_t base, const PackedRotation& rotation,
                                   const std::uint32_t (&places)[Shape<Op>::kUnits]) {
  using S = Shape<Op>;
  Bits<Op::kSrc> units[S::kSteps][S::kPart];
  Bits<Op::kDst * S::kPart> parts[S::kSteps];
  collect_units<Op, swizzled>(a, base, places, units);
  if constexpr (kMoves<Op>) {
#pragma unroll
    for (int i = 0; i < S::kSteps; ++i) parts[i] = join<Op::kDst, S::kPart>(units[i]);
  } else {
    with_each<Op::kDst, Op::kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() {
#pragma unroll
      for (int i = 0; i < S::kSteps; ++i) parts[i] = convert_part<Dst, Src, S::kPart>(units[i]);
    });
  }
  rotate_back(rotation, parts);
  return join<Op::kDst * S::kPart, S::kSteps>(parts);
}

/// True where words that a run fills in part are left to `store_run_ends`.
template <class Op>
inline constexpr bool kEndsApart = packed_ends_apart(PackedKind::kLoose, Op::kDst, !kMoves<Op>);

template <class Op>
__device__ inline void store_word(char* at, const Bits<16>& value, int unit, int units) {
  constexpr int kUnits = Shape<Op>::kUnits;
  if (unit >= 0 && unit + kUnits <= units)
    store<16>(at, value);
  else
    store_ends<Op::kDst>(at, value, max(0, -unit) * Op::kDst, min(kUnits, units - unit) * Op::kDst);
}

}  // namespace restride::cuda
