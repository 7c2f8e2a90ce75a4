// Transposing planes of short rows and columns by permutes: whole vectors in, whole vectors out. Included once per
// instruction set.
//
// A vector is a group of rows and up to 16 columns of them: one or two windows of 64 bytes hold the group where the
// source's rows are short, and one permute puts each column's units of the group side by side, a cell a column. Two
// perfect shuffles at most make 16 bytes of each column out of cells, and a last permute sets columns end to end, with
// no gap between those of odd lengths. Loading 16 bytes of each row by itself (transpose-inl.h) takes a load a row and
// a store a column; a 31x17 matrix of bytes takes twice as long that way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_GROUPED_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_GROUPED_PLANES_INL_H_
#undef RESTRIDE_CPU_PACKED_GROUPED_PLANES_INL_H_
#else
#define RESTRIDE_CPU_PACKED_GROUPED_PLANES_INL_H_
#endif

#include "src/base/checked.h"
#include "src/cpu/packed/ways.h"
#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A plane of a tile, or several that lie evenly: `rows` units that become dense in `to`, `cols` that are dense in
/// `from`. Pitches and steps in bytes.
struct Plane {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t from_pitch;     ///< from row to row
  std::int64_t to_pitch;       ///< from column to column
  std::int64_t from_step = 0;  ///< from this plane to the next one of `count`
  std::int64_t to_step = 0;
  std::int64_t count = 1;
  bool stream = false;  ///< columns leave past the caches: see streams_columns
};

#if HWY_TARGET <= HWY_AVX3
/// The planes of one tile, all of a shape.
class GroupedPlane {
 public:
  /// False when planes like `p` are not taken in groups; what they take is in cycles().
  HWY_NOINLINE bool make(const Plane& p, std::int64_t unit) noexcept {
    const Grouping g = grouping_of(unit, p.rows, p.cols, p.from_pitch, p.to_pitch);
    if (g.cells == 0 || (unit | p.from_pitch) % static_cast<std::int64_t>(kLaneBytes) != 0) return false;
    cycles_ = g.cycles;
    const std::int64_t cell = 64 / g.cells;
    const std::int64_t group_rows = cell / unit;
    column_bytes_ = p.rows * unit;
    block_rows_ = 64 / unit;
    groups_ = ceil_div(std::min(p.rows, block_rows_), group_rows);
    group_pitch_ = group_rows * p.from_pitch;
    columns_ = g.columns;
    step_ = g.columns * unit;
    unit_ = unit;
    slice_cols_ = ceil_div(ceil_div(std::int64_t{1024}, column_bytes_), g.columns) * g.columns;
    read_bytes_ = (p.rows - 1) * p.from_pitch + (p.cols - 1) / g.columns * step_ + 64 * g.windows;
    streams_ = p.to_pitch == column_bytes_ && (column_bytes_ == 16 || column_bytes_ == 32 || column_bytes_ % 64 == 0) &&
               p.cols * column_bytes_ % 64 == 0;
    // Of piece q of a vector's 16 bytes, cell k is column 4 k + q: shuffles leave four columns that follow each other.
    for (std::int64_t at = 0; at < 64; at += kLaneBytes) {
      const std::int64_t q = at / 16, k = at % 16 / cell, row = at % cell / unit;
      in_[at / kLaneBytes] = lane((row * p.from_pitch + (4 * k + q) * unit + at % unit) % (64 * g.windows));
    }
    // A column's first 16 bytes are in one vector, those that follow in the next, which the last permute sees behind
    // it. Of long columns two are set side by side by their first 32 bytes, and by what follows.
    const std::int64_t length = g.height == 4 ? 32 : column_bytes_;
    for (std::int64_t half = 0; half < g.height && half < 2; ++half)
      for (std::int64_t at = 0; at < 64; at += kLaneBytes) {
        const std::int64_t q = 2 * half + at / length, in = at % length;
        out_[half][at / kLaneBytes] = lane((in / 16 * 64 + q * 16 + in % 16) % 128);
      }
    move_ = pick(g);
    return true;
  }

  double cycles() const noexcept { return cycles_; }
  /// From a plane's first byte to the last that is read, be it used or not.
  std::int64_t read_bytes() const noexcept { return read_bytes_; }
  /// Columns that make a KiB or more, a multiple of those taken at once.
  std::int64_t slice_cols() const noexcept { return slice_cols_; }
  /// True when planes may leave past the caches, where they start on a line.
  bool streams() const noexcept { return streams_; }

  /// Writes up to 63 bytes behind the last column, unless it streams.
  HWY_INLINE void move(const Plane& p) const {
    if (HWY_LIKELY(p.rows <= block_rows_)) return move_(*this, p, p.from, p.to);
    for (std::int64_t r = 0; r < p.rows; r += block_rows_) {
      const std::int64_t first = std::min(r, p.rows - block_rows_);  // the last block starts early rather than short
      move_(*this, p, p.from + first * p.from_pitch, p.to + first * unit_);
    }
  }

 private:
  /// Permutes are of bytes where there are such, else of pairs of them.
  static constexpr std::size_t kLaneBytes = HWY_TARGET <= HWY_AVX3_DL ? 1 : 2;
  using Lane = LaneOf<kLaneBytes>::type;
  using D = hn::CappedTag<Lane, 64 / kLaneBytes>;
  using V = hn::Vec<D>;
  using Move = void (*)(const GroupedPlane&, const Plane&, const std::uint8_t*, std::uint8_t*);

  static Lane lane(std::int64_t byte) noexcept {
    return static_cast<Lane>(byte / static_cast<std::int64_t>(kLaneBytes));
  }
  static HWY_INLINE V permute(V index, V from) { return permute_into(index, ~std::uint64_t{0}, index, from); }
  static HWY_INLINE V low(V a, V b, std::integral_constant<int, 4>) { return V{_mm512_unpacklo_epi32(a.raw, b.raw)}; }
  static HWY_INLINE V low(V a, V b, std::integral_constant<int, 8>) { return V{_mm512_unpacklo_epi64(a.raw, b.raw)}; }
  static HWY_INLINE V high(V a, V b, std::integral_constant<int, 4>) { return V{_mm512_unpackhi_epi32(a.raw, b.raw)}; }
  static HWY_INLINE V high(V a, V b, std::integral_constant<int, 8>) { return V{_mm512_unpackhi_epi64(a.raw, b.raw)}; }

  /// act(std::integral_constant<int, I>) for I from 0 on, until it says false.
  template <int kCount, class Act>
  static HWY_INLINE void for_each_of(const Act& act) {
    [&]<int... I>(std::integer_sequence<int, I...>) RESTRIDE_INLINE_LAMBDA {
      (void)(act(std::integral_constant<int, I>()) && ...);
    }
    (std::make_integer_sequence<int, kCount>());
  }

  /// A block of columns of up to kHeight * 16 bytes, kCells cells in 16 bytes of a group's vector.
  template <int kCells, int kHeight, int kWindows>
  static void move_block(const GroupedPlane& s, const Plane& p, const std::uint8_t* HWY_RESTRICT from,
                         std::uint8_t* HWY_RESTRICT to) {
    constexpr std::integral_constant<int, 4> k4;
    constexpr std::integral_constant<int, 8> k8;
    const D d;
    const V in = load(d, reinterpret_cast<const std::uint8_t*>(s.in_));
    const V out0 = load(d, reinterpret_cast<const std::uint8_t*>(s.out_[0]));
    const V out1 = load(d, reinterpret_cast<const std::uint8_t*>(s.out_[1]));
    const std::int64_t groups = s.groups_, pitch = s.group_pitch_, taken = s.columns_, step = s.step_;
    const std::int64_t to_pitch = p.to_pitch;
    const bool streams = p.stream;
    const auto leave = [&](V v, std::int64_t columns) RESTRIDE_INLINE_LAMBDA {
      if (streams)
        stream(v, d, to);
      else
        store(v, d, to);
      to += columns * to_pitch;
    };
    // Group g; of those past the last row nothing leaves.
    const auto group = [&](const std::uint8_t* row, int g) RESTRIDE_INLINE_LAMBDA {
      if (g >= groups) return in;
      const std::uint8_t* at = row + g * pitch;
      if constexpr (kWindows == 2)
        return permute_two(load(d, at), in, load(d, at + 64));
      else
        return permute(in, load(d, at));
    };
    const auto plane = [&] RESTRIDE_INLINE_LAMBDA {
      for (std::int64_t left = p.cols; left > 0; left -= taken, from += step) {
        V piece[kHeight][kCells];  // of 16 bytes of each column: columns 4 k to 4 k + 3
        for_each_of<kHeight>([&]<int kN>(std::integral_constant<int, kN>) RESTRIDE_INLINE_LAMBDA {
          constexpr int g = kN * kCells;
          if constexpr (kCells == 1) {
            piece[kN][0] = group(from, g);
          } else if constexpr (kCells == 2) {
            const V v0 = group(from, g), v1 = group(from, g + 1);
            piece[kN][0] = low(v0, v1, k8);
            piece[kN][1] = high(v0, v1, k8);
          } else {
            const V v0 = group(from, g), v1 = group(from, g + 1), v2 = group(from, g + 2), v3 = group(from, g + 3);
            const V low01 = low(v0, v1, k4), low23 = low(v2, v3, k4);
            const V high01 = high(v0, v1, k4), high23 = high(v2, v3, k4);
            piece[kN][0] = low(low01, low23, k8);
            piece[kN][1] = high(low01, low23, k8);
            piece[kN][2] = low(high01, high23, k8);
            piece[kN][3] = high(high01, high23, k8);
          }
          return true;
        });
        // Columns 4 k and behind it, as many as there are.
        for_each_of<kCells>([&]<int kK>(std::integral_constant<int, kK>) RESTRIDE_INLINE_LAMBDA {
          const std::int64_t columns = std::min(left, taken) - 4 * kK;
          if (columns <= 0) return false;
          if constexpr (kHeight == 1) {
            leave(permute(out0, piece[0][kK]), 4);
          } else if constexpr (kHeight == 2) {
            leave(permute_two(piece[0][kK], out0, piece[1][kK]), 2);
            if (columns > 2) leave(permute_two(piece[0][kK], out1, piece[1][kK]), 2);
          } else {
            const auto two = [&](V out, bool second) RESTRIDE_INLINE_LAMBDA {
              const auto first32 = permute_two(piece[0][kK], out, piece[1][kK]).raw;
              const auto last32 = permute_two(piece[2][kK], out, piece[3][kK]).raw;
              leave(V{_mm512_inserti64x4(first32, _mm512_castsi512_si256(last32), 1)}, 1);
              if (second) leave(V{_mm512_shuffle_i64x2(first32, last32, 0xEE)}, 1);
            };
            two(out0, columns > 1);
            if (columns > 2) two(out1, columns > 3);
          }
          return true;
        });
      }
    };
    for (std::int64_t n = p.count; n > 0; --n) {
      const std::uint8_t* next_from = from + p.from_step;
      std::uint8_t* next_to = to + p.to_step;
      plane();
      from = next_from;
      to = next_to;
    }
  }

  template <int kCells, int kHeight>
  static Move pick(std::int64_t windows) noexcept {
    return windows == 2 ? move_block<kCells, kHeight, 2> : move_block<kCells, kHeight, 1>;
  }
  template <int kCells>
  static Move pick(std::int64_t height, std::int64_t windows) noexcept {
    return height == 1 ? pick<kCells, 1>(windows) : height == 2 ? pick<kCells, 2>(windows) : pick<kCells, 4>(windows);
  }
  static Move pick(const Grouping& g) noexcept {
    return g.cells == 4   ? pick<1>(g.height, g.windows)
           : g.cells == 8 ? pick<2>(g.height, g.windows)
                          : pick<4>(g.height, g.windows);
  }

  alignas(64) Lane in_[64 / kLaneBytes];      ///< a group's units in its windows, cell by cell
  alignas(64) Lane out_[2][64 / kLaneBytes];  ///< the columns of a vector that leaves, of the first and the second half
  std::int64_t unit_ = 0;
  std::int64_t column_bytes_ = 0;
  std::int64_t slice_cols_ = 0;
  std::int64_t block_rows_ = 0;
  std::int64_t groups_ = 0;       ///< of a block
  std::int64_t group_pitch_ = 0;  ///< bytes
  std::int64_t columns_ = 0;      ///< of a group
  std::int64_t step_ = 0;         ///< bytes of a group's columns in src
  std::int64_t read_bytes_ = 0;
  bool streams_ = false;
  double cycles_ = 0;
  Move move_ = nullptr;
};
#else
/// Without permutes no plane is taken in groups.
class GroupedPlane {
 public:
  bool make(const Plane&, std::int64_t) noexcept { return false; }
  double cycles() const noexcept { return 0; }
  std::int64_t slice_cols() const noexcept { return 0; }
  std::int64_t read_bytes() const noexcept { return 0; }
  bool streams() const noexcept { return false; }
  void move(const Plane&) const {}
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
