// Records of three parts of 1, 2, 4, 8 or 16 bytes (pixels of three channels), transposed in registers where
// two-register permutes exist. Included once per instruction set.
//
// A record is spread into a unit of four parts, whose vectors of a column come as any unit's do (transpose-inl.h); four
// of them, three quarters full, make three lines of the column, each from two neighbours by one permute. What a column
// lacks to its next line is joined in front by another, so every line is made and left without a buffer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_TRIPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_TRIPLES_INL_H_
#undef RESTRIDE_CPU_TILE_TRIPLES_INL_H_
#else
#define RESTRIDE_CPU_TILE_TRIPLES_INL_H_
#endif

#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3
/// Row p: the lanes of line p in two neighbouring vectors of units, three of whose four parts count.
template <class Lane, std::size_t kPart>
struct TripleTable {
  static constexpr std::size_t kLanes = kLine / sizeof(Lane);
  alignas(kLine) Lane index[3][kLanes] = {};
  constexpr TripleTable() {
    constexpr std::size_t kPartLanes = kPart / sizeof(Lane);
    constexpr std::size_t kHeld = kLanes / 4 * 3;  // lanes of a vector that count
    for (std::size_t p = 0; p < 3; ++p)
      for (std::size_t i = 0; i < kLanes; ++i) {
        const std::size_t at = p * kLanes + i;  // in the column, from the first vector's start on
        const std::size_t in = at % kHeld;
        const std::size_t lane = in / (3 * kPartLanes) * 4 * kPartLanes + in % (3 * kPartLanes);
        index[p][i] = static_cast<Lane>((at / kHeld - p) * kLanes + lane);
      }
  }
};

/// Blocks of kCols columns by kRows records each, which are three lines of a column.
template <std::size_t kPart>
class Triples {
  static constexpr std::size_t kUnit = 4 * kPart;

 public:
  using Lane = typename LaneOf<std::min<std::size_t>(kPart, 8)>::type;
  using D = hn::CappedTag<Lane, kLine / sizeof(Lane)>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kCols = 4;
  static constexpr std::size_t kRows = 4 * kLine / kUnit;

  /// Cells are a unit at most, where that is less than 16 bytes.
  explicit Triples(const RecordShape& r) : piece_bytes_(static_cast<std::int64_t>(kPieceCols) * r.cell_bytes) {
    constexpr std::size_t kSpread = std::min<std::size_t>(kUnit, 16);
    for (std::size_t i = 0; i < 16; ++i) {
      const auto b = static_cast<std::int64_t>(i % kSpread);
      const auto cell = static_cast<std::int64_t>(i / kSpread);
      spread_[i] = static_cast<std::uint8_t>(b < r.bytes ? cell * r.cell_bytes + byte_in_cell(r, b) : 0);
    }
  }

  /// Bytes that are read of a row.
  std::int64_t read_bytes() const {
    return (static_cast<std::int64_t>(kCols / kPieceCols) - 1) * piece_bytes_ + std::max<std::int64_t>(kUnit, 16);
  }
  /// Calls emit(j, p, line p of column j) for p in [0, 3), j in [0, kCols). Row i's cells start at row(i), of which
  /// read_bytes() are read.
  template <class Row, class Emit>
  HWY_INLINE void lines(const Row& row, const Emit& emit) const {
    V above[kCols];
    vectors(row, [&](std::size_t j, V v) RESTRIDE_INLINE_LAMBDA { above[j] = v; });
    for (std::size_t p = 0; p < 3; ++p)
      vectors([&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return row((p + 1) * kRows / 4 + i); },
              [&](std::size_t j, V v) RESTRIDE_INLINE_LAMBDA {
                emit(j, p, permute_two(above[j], hn::Load(D(), kTable.index[p]), v));
                above[j] = v;
              });
  }

 private:
  /// Columns that are read together, 16 bytes of a row.
  static constexpr std::size_t kPieceCols = std::max<std::size_t>(16 / kUnit, 1);

  /// emit(j, a vector of units of column j).
  template <class Row, class Emit>
  HWY_INLINE void vectors(const Row& row, const Emit& emit) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) RESTRIDE_INLINE_LAMBDA {
      (piece([&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return row(i) + static_cast<std::int64_t>(I) * piece_bytes_; },
             [&](std::size_t j, V v) RESTRIDE_INLINE_LAMBDA { emit(I * kPieceCols + j, v); }),
       ...);
    }
    (std::make_index_sequence<kCols / kPieceCols>());
  }
  template <class Row, class Emit>
  HWY_INLINE void piece(const Row& row, const Emit& emit) const {
    const D d;
    if constexpr (kUnit == 64) {
      emit(0, load(d, row(0)));
    } else if constexpr (kUnit == 32) {
      const hn::Half<D> half;
      emit(0, hn::Combine(d, load(half, row(1)), load(half, row(0))));
    } else {
      using B = Block<kUnit>;
      const hn::Repartition<std::uint8_t, D> d8;
      const auto spread = hn::LoadDup128(d8, spread_);
      B::transpose_rows(
          row,
          [&](typename B::V v) RESTRIDE_INLINE_LAMBDA {
            return hn::BitCast(typename B::D(), hn::TableLookupBytes(hn::BitCast(d8, v), spread));
          },
          [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA { emit(j, hn::BitCast(d, v)); });
    }
  }

  static constexpr TripleTable<Lane, kPart> kTable{};
  alignas(16) std::uint8_t spread_[16];
  std::int64_t piece_bytes_;
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
