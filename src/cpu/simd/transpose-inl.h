// Transposes in registers, for units of 1, 2, 4, 8 and 16 bytes. Included once per instruction set.
//
// A block is kRows x kCols units: kCols units are 16 bytes of a source row, kRows units are one vector of a
// destination column. Vector i is built from 16-byte pieces of the rows i, i + kCols, i + 2 kCols ..., one piece
// a 128-bit lane; log2(kCols) perfect shuffles inside the lanes then leave column j in vector j, rows in order.
// So the work is a quarter of a full-width transpose's: lanes are filled by loads, not by shuffles.
// Source: the lane-insert transposes of Intel's optimisation manual (8x8 floats), generalised to every unit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_TRANSPOSE_INL_H_
#undef RESTRIDE_CPU_SIMD_TRANSPOSE_INL_H_
#else
#define RESTRIDE_CPU_SIMD_TRANSPOSE_INL_H_
#endif

// Lambdas do not inherit always_inline; without it every column of a block costs a call.
#ifndef RESTRIDE_INLINE_LAMBDA
#define RESTRIDE_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <std::size_t kUnit>
struct LaneOf;
template <>
struct LaneOf<1> {
  using type = std::uint8_t;
};
template <>
struct LaneOf<2> {
  using type = std::uint16_t;
};
template <>
struct LaneOf<4> {
  using type = std::uint32_t;
};
template <>
struct LaneOf<8> {
  using type = std::uint64_t;
};
template <>
struct LaneOf<16> {
  using type = std::uint64_t;
};

/// act(std::integral_constant<std::size_t, U>) with U = unit: 1, 2, 4 or 8.
template <class Act>
HWY_INLINE auto with_unit(std::int64_t unit, const Act& act) {
  switch (unit) {
    case 1: return act(std::integral_constant<std::size_t, 1>());
    case 2: return act(std::integral_constant<std::size_t, 2>());
    case 4: return act(std::integral_constant<std::size_t, 4>());
    default: return act(std::integral_constant<std::size_t, 8>());
  }
}

/// The same number, of which the compiler knows nothing any more. Multiples of a pitch that it knows are worked out
/// before the loop over blocks, more of them than there are registers for, and loaded again for every row. (Of a pitch
/// that is a constant, as a stage's, they are part of the instructions.) Not `volatile`, it would leave the loop, too.
HWY_INLINE std::ptrdiff_t hidden_from_compiler(std::ptrdiff_t number) {
  __asm__ volatile("" : "+r"(number));
  return number;
}

/// The most addresses that stay in registers from block to block.
inline constexpr std::size_t kFewAddresses = 8;

/// Rows a pitch apart, for blocks that load rows i, i + kApart, i + 2 kApart ... for one vector after the other: row(i)
/// is where row i starts once reach(0), reach(1), ... reach(i % kApart) have been called, in this order. One distance
/// grows; rows kApart apart have a pointer each. Only Block loads rows in this order.
template <std::size_t kApart, std::size_t kRows>
class PitchedRows {
  static_assert(kRows % kApart == 0);

 public:
  HWY_INLINE PitchedRows(const std::uint8_t* in, std::ptrdiff_t pitch) : pitch_(hidden_from_compiler(pitch)) {
    for (std::size_t k = 0; k < kRows / kApart; ++k) from_[k] = in + static_cast<std::ptrdiff_t>(k * kApart) * pitch;
  }
  HWY_INLINE void reach(std::size_t i) const {
    if (i != 0) past_ = hidden_from_compiler(past_ + pitch_);
  }
  HWY_INLINE const std::uint8_t* operator()(std::size_t i) const { return from_[i / kApart] + past_; }

 private:
  const std::uint8_t* from_[kRows / kApart];
  std::ptrdiff_t pitch_;
  mutable std::ptrdiff_t past_ = 0;
};
/// Rows that are anywhere need not be reached.
template <class Row>
HWY_INLINE void reach(const Row& row, std::size_t i) {
  if constexpr (requires { row.reach(i); }) row.reach(i);
}

#if HWY_TARGET == HWY_SCALAR
/// The baseline without vectors: 16 bytes as an array, which compilers keep in what registers there are.
struct ArrayTag {};
struct Array16 {
  std::uint8_t bytes[16];
};
HWY_INLINE void store(Array16 v, ArrayTag, void* to) { std::memcpy(to, v.bytes, 16); }
HWY_INLINE void stream(Array16 v, ArrayTag, void* to) { std::memcpy(to, v.bytes, 16); }
HWY_INLINE Array16 load(ArrayTag, const std::uint8_t* from) {
  Array16 v;
  std::memcpy(v.bytes, from, 16);
  return v;
}

template <std::size_t kUnit, std::size_t kMaxBytes = 64>
struct Block {
  using Lane = typename LaneOf<kUnit>::type;
  using D = ArrayTag;
  using V = Array16;
  static constexpr std::size_t kUnitBytes = kUnit;
  static constexpr std::size_t kVectorBytes = 16;
  static constexpr std::size_t kCols = 16 / kUnit;
  static constexpr std::size_t kRows = 16 / kUnit;
  static constexpr bool kHidesPitch = false;

  template <class Emit>
  static HWY_INLINE void transpose(const std::uint8_t* HWY_RESTRICT in, std::ptrdiff_t pitch, const Emit& emit) {
    transpose_rows([=](std::size_t i) { return in + static_cast<std::ptrdiff_t>(i) * pitch; }, emit);
  }
  template <class Row, class Emit>
  static HWY_INLINE void transpose_rows(const Row& row, const Emit& emit) {
    for (std::size_t j = 0; j < kCols; ++j) {
      V v;
      for (std::size_t i = 0; i < kRows; ++i) std::memcpy(v.bytes + i * kUnit, row(i) + j * kUnit, kUnit);
      emit(j, v);
    }
  }
};
#else
template <class V, class D>
HWY_INLINE void store(V v, D d, void* to) {
  hn::StoreU(v, d, static_cast<hn::TFromD<D>*>(to));
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* from) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
}
/// Past the caches; `to` is aligned to the vector.
template <class V, class D>
HWY_INLINE void stream(V v, D d, void* to) {
  hn::Stream(v, d, static_cast<hn::TFromD<D>*>(to));
}

template <std::size_t kUnit, std::size_t kMaxBytes = 64>
struct Block {
  using Lane = typename LaneOf<kUnit>::type;
  using D = hn::CappedTag<Lane, kMaxBytes / sizeof(Lane)>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kUnitBytes = kUnit;
  static constexpr std::size_t kVectorBytes = hn::MaxLanes(D()) * sizeof(Lane);
  static constexpr std::size_t kCols = 16 / kUnit;
  static constexpr std::size_t kRows = kVectorBytes / kUnit;
  static constexpr bool kHidesPitch = kRows > kFewAddresses&& kCols >= kFewAddresses;

  /// Calls emit(j, column j as a vector of kRows units) for j in [0, kCols). Row r's 16 bytes start at
  /// in + r * pitch, at any alignment.
  template <class Emit>
  static HWY_INLINE void transpose(const std::uint8_t* HWY_RESTRICT in, std::ptrdiff_t pitch, const Emit& emit) {
    transpose(
        in, pitch, [](V v) RESTRIDE_INLINE_LAMBDA { return v; }, emit);
  }

  /// The same for rows whose 16 bytes hold the units in a way of their own: spread(v) puts the units of each of v's
  /// 16-byte pieces in place.
  template <class Spread, class Emit>
  static HWY_INLINE void transpose(const std::uint8_t* HWY_RESTRICT in, std::ptrdiff_t pitch, const Spread& spread,
                                   const Emit& emit) {
    if constexpr (kHidesPitch)
      if (!__builtin_constant_p(pitch)) return transpose_rows(PitchedRows<kCols, kRows>(in, pitch), spread, emit);
    transpose_rows([=](std::size_t i) RESTRIDE_INLINE_LAMBDA { return in + static_cast<std::ptrdiff_t>(i) * pitch; },
                   spread, emit);
  }

  /// The same for rows anywhere: row(i) is where row i's 16 bytes start.
  template <class Row, class Emit>
  static HWY_INLINE void transpose_rows(const Row& row, const Emit& emit) {
    transpose_rows(
        row, [](V v) RESTRIDE_INLINE_LAMBDA { return v; }, emit);
  }
  template <class Row, class Spread, class Emit>
  static HWY_INLINE void transpose_rows(const Row& row, const Spread& spread, const Emit& emit) {
    load_shuffle_emit(row, spread, emit, std::make_index_sequence<kCols>());
  }

 private:
  /// One 16-byte piece of each of the rows r, r + kCols, ... in the lanes of a vector.
  template <class DT, class Row>
  static HWY_INLINE hn::Vec<DT> lanes_of_rows(DT d, const Row& row, std::size_t r) {
    constexpr std::size_t kBytes = hn::MaxLanes(DT()) * sizeof(Lane);
    if constexpr (kBytes <= 16) {
      return hn::LoadU(d, reinterpret_cast<const Lane*>(row(r)));
    } else {
      const hn::Half<DT> half;
      return hn::Combine(d, lanes_of_rows(half, row, r + kBytes / 32 * kCols), lanes_of_rows(half, row, r));
    }
  }

  template <class Row, class Spread, class Emit, std::size_t... I>
  static HWY_INLINE void load_shuffle_emit(const Row& row, const Spread& spread, const Emit& emit,
                                           std::index_sequence<I...>) {
    constexpr std::make_index_sequence<kCols / 2> kPairs;
    V v[kCols] = {(reach(row, I), spread(lanes_of_rows(D(), row, I)))...};
    if constexpr (kCols >= 2) shuffle(v, kPairs, std::index_sequence<I...>());
    if constexpr (kCols >= 4) shuffle(v, kPairs, std::index_sequence<I...>());
    if constexpr (kCols >= 8) shuffle(v, kPairs, std::index_sequence<I...>());
    if constexpr (kCols >= 16) shuffle(v, kPairs, std::index_sequence<I...>());
    (emit(I, v[I]), ...);
  }

  /// One perfect shuffle of the vectors and of the units in their lanes. No loop copies the vectors back: g++ 12 turns
  /// it into one wide load from memory, which waits for all the narrow stores before it.
  template <std::size_t... I, std::size_t... J>
  static HWY_INLINE void shuffle(V* v, std::index_sequence<I...>, std::index_sequence<J...>) {
    constexpr std::size_t kHalf = kCols / 2;
    const D d;
    V t[kCols];
    ((t[2 * I] = hn::InterleaveLower(d, v[I], v[I + kHalf]), t[2 * I + 1] = hn::InterleaveUpper(d, v[I], v[I + kHalf])),
     ...);
    ((v[J] = t[J]), ...);
  }
};

#endif

#if HWY_TARGET <= HWY_AVX3
/// What blocks of kRowBytes of a row, and of a line of each column, share: the interface is Block's, and Self has
/// transpose_rows(row, emit).
template <class Self, std::size_t kUnit, std::size_t kRowBytes>
struct LinesBlock {
  using Lane = typename LaneOf<kUnit>::type;
  using D = hn::CappedTag<Lane, 64 / sizeof(Lane)>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kUnitBytes = kUnit;
  static constexpr std::size_t kVectorBytes = 64;
  static constexpr std::size_t kCols = kRowBytes / kUnit;
  static constexpr std::size_t kRows = 64 / kUnit;
  static constexpr bool kHidesPitch = kRows > kFewAddresses;

  template <class Emit>
  static HWY_INLINE void transpose(const std::uint8_t* HWY_RESTRICT in, std::ptrdiff_t pitch, const Emit& emit) {
    if (kHidesPitch && !__builtin_constant_p(pitch)) pitch = hidden_from_compiler(pitch);
    Self::transpose_rows(
        [=](std::size_t i) RESTRIDE_INLINE_LAMBDA { return in + static_cast<std::ptrdiff_t>(i) * pitch; }, emit);
  }

 protected:
  static constexpr std::size_t kPieces = 16 / kUnit;  ///< units of 16 bytes
};

/// As many rows as columns, a line of each: every line of src is loaded once, so it need not stay in the first cache.
template <std::size_t kUnit>
struct SquareBlock : LinesBlock<SquareBlock<kUnit>, kUnit, 64> {
  using Base = LinesBlock<SquareBlock<kUnit>, kUnit, 64>;
  using typename Base::D;
  using typename Base::Lane;
  using typename Base::V;

  template <class Row, class Emit>
  static HWY_INLINE void transpose_rows(const Row& row, const Emit& emit) {
    transpose_loaded([&](std::size_t i)
                         RESTRIDE_INLINE_LAMBDA { return hn::LoadU(D(), reinterpret_cast<const Lane*>(row(i))); },
                     emit);
  }
  /// The same for rows that load(i) makes.
  template <class Load, class Emit>
  static HWY_INLINE void transpose_loaded(const Load& load, const Emit& emit) {
    load_shuffle_emit(load, emit, std::make_index_sequence<Base::kRows>());
  }

 private:
  static constexpr std::size_t kPieces = Base::kPieces;

  template <class Load, class Emit, std::size_t... I>
  static HWY_INLINE void load_shuffle_emit(const Load& load, const Emit& emit, std::index_sequence<I...>) {
    V v[Base::kRows] = {load(I)...};
    // Inside each 16 bytes, among the rows whose units end up in the same 16 bytes of a column ...
#pragma GCC unroll 4
    for (std::size_t g = 0; g < Base::kRows; g += kPieces) {
      if constexpr (kPieces == 2) interleave(v[g], v[g + 1]);
      if constexpr (kPieces == 4) {
        interleave(v[g], v[g + 2]);
        interleave(v[g + 1], v[g + 3]);
        interleave(v[g], v[g + 1]);
        interleave(v[g + 2], v[g + 3]);
      }
    }
    // ... then the 16 bytes. Columns leave as soon as they are made: all of them at once would not fit the registers.
    const auto leave = [&]<std::size_t C>(std::integral_constant<std::size_t, C>) RESTRIDE_INLINE_LAMBDA {
      const auto piece = [&](std::size_t g) RESTRIDE_INLINE_LAMBDA { return v[g * kPieces + C].raw; };
      const auto low01 = _mm512_shuffle_i32x4(piece(0), piece(1), 0x44);
      const auto high01 = _mm512_shuffle_i32x4(piece(0), piece(1), 0xEE);
      const auto low23 = _mm512_shuffle_i32x4(piece(2), piece(3), 0x44);
      const auto high23 = _mm512_shuffle_i32x4(piece(2), piece(3), 0xEE);
      emit(C, V{_mm512_shuffle_i32x4(low01, low23, 0x88)});
      emit(kPieces + C, V{_mm512_shuffle_i32x4(low01, low23, 0xDD)});
      emit(2 * kPieces + C, V{_mm512_shuffle_i32x4(high01, high23, 0x88)});
      emit(3 * kPieces + C, V{_mm512_shuffle_i32x4(high01, high23, 0xDD)});
    };
    [&]<std::size_t... C>(std::index_sequence<C...>) RESTRIDE_INLINE_LAMBDA {
      (leave(std::integral_constant<std::size_t, C>()), ...);
    }
    (std::make_index_sequence<kPieces>());
  }
  /// a and b, unit by unit in turn: the lower halves of each 16 bytes, the upper ones.
  static HWY_INLINE void interleave(V& a, V& b) {
    const V lower = hn::InterleaveLower(D(), a, b);
    b = hn::InterleaveUpper(D(), a, b);
    a = lower;
  }
};

/// Between the two: 32 bytes of each of as many rows as a line of dst has units. Half a Block's loads, and one shuffle
/// more for a line.
template <std::size_t kUnit>
struct HalfBlock : LinesBlock<HalfBlock<kUnit>, kUnit, 32> {
  using Base = LinesBlock<HalfBlock<kUnit>, kUnit, 32>;
  using typename Base::D;
  using typename Base::Lane;
  using typename Base::V;

  template <class Row, class Emit>
  static HWY_INLINE void transpose_rows(const Row& row, const Emit& emit) {
    V upper[kPieces];
    V lower[kPieces];
    transpose_pieces(row, 0, upper, std::make_index_sequence<kPieces>());
    transpose_pieces(row, 2 * kPieces, lower, std::make_index_sequence<kPieces>());
    [&]<std::size_t... C>(std::index_sequence<C...>) RESTRIDE_INLINE_LAMBDA {
      (emit(C, V{_mm512_shuffle_i32x4(upper[C].raw, lower[C].raw, 0x88)}), ...);
      (emit(kPieces + C, V{_mm512_shuffle_i32x4(upper[C].raw, lower[C].raw, 0xDD)}), ...);
    }
    (std::make_index_sequence<kPieces>());
  }

 private:
  static constexpr std::size_t kPieces = Base::kPieces;

  /// Row i beside row i + kPieces for i from r on; then column c beside column c + kPieces of these rows' halves.
  template <class Row, std::size_t... I>
  static HWY_INLINE void transpose_pieces(const Row& row, std::size_t r, V* v, std::index_sequence<I...>) {
    const hn::Half<D> half;
    ((v[I] = hn::Combine(D(), hn::LoadU(half, reinterpret_cast<const Lane*>(row(r + kPieces + I))),
                         hn::LoadU(half, reinterpret_cast<const Lane*>(row(r + I))))),
     ...);
    for (std::size_t n = kPieces; n > 1; n /= 2) {
      const V t[kPieces] = {(I % 2 == 0 ? hn::InterleaveLower(D(), v[I / 2], v[I / 2 + kPieces / 2])
                                        : hn::InterleaveUpper(D(), v[I / 2], v[I / 2 + kPieces / 2]))...};
      ((v[I] = t[I]), ...);
    }
  }
};
#endif

/// Cuts rows, at least as many as a vector of 16 bytes has, into blocks: full vectors, then what is left by the
/// shortest that holds it, which starts early rather than short. move(bytes, r): rows from r on, a vector of bytes()
/// bytes, kMostBytes at most.
template <std::size_t kUnit, std::size_t kMostBytes = 64, class Move>
HWY_INLINE void for_row_blocks(std::int64_t rows, const Move& move) {
  constexpr auto kRows64 = static_cast<std::int64_t>(Block<kUnit, kMostBytes>::kRows);
  constexpr auto kRows32 = static_cast<std::int64_t>(Block<kUnit, std::min<std::size_t>(kMostBytes, 32)>::kRows);
  constexpr auto kRows16 = static_cast<std::int64_t>(Block<kUnit, 16>::kRows);
  constexpr std::integral_constant<std::size_t, 64> k64;
  constexpr std::integral_constant<std::size_t, 32> k32;
  constexpr std::integral_constant<std::size_t, 16> k16;
  std::int64_t r = 0;
  if constexpr (kRows64 > kRows32) {
    for (; r + kRows64 <= rows; r += kRows64) move(k64, r);
    if (r == rows) return;
    if (rows >= kRows64 && rows - r > kRows32) return move(k64, rows - kRows64);
  }
  if constexpr (kRows32 > kRows16) {
    for (; r + kRows32 <= rows; r += kRows32) move(k32, r);
    if (r == rows) return;
    if (rows >= kRows32 && rows - r > kRows16) return move(k32, rows - kRows32);
  }
  for (; r < rows; r += kRows16) move(k16, std::min(r, rows - kRows16));
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
