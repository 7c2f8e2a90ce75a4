// Records of 5 to 32 bytes, brought together by permutes of the bytes of two vectors. Included once per instruction
// set.
//
// A vector holds some records of one row. A permute takes half of the columns from two such vectors: twice the rows,
// and half the columns. When one column is left, its records follow each other in a piece of 33 to 64 bytes.
#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_MERGED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_MERGED_INL_H_
#undef RESTRIDE_CPU_TILE_MERGED_INL_H_
#else
#define RESTRIDE_CPU_TILE_MERGED_INL_H_
#endif

#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/records.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3_DL
/// Permutes of a level, one for each set that it makes of one set of columns.
inline constexpr std::size_t kMostMergeLevels = 3;
inline constexpr std::size_t kMostMergeSplits = 3;
struct MergeTables {
  alignas(64) std::uint8_t index[kMostMergeLevels][kMostMergeSplits][kLine] = {};

  /// What the permute of a level takes for a set of columns: byte b of row i of column c, of which `rows` are in the
  /// first vector and `rows` in the second. Columns lie one behind the other, their rows inside.
  HWY_NOINLINE MergeTables(const RecordShape& r, const MergedShape& s) {
    std::int64_t cols = s.cols();
    for (std::int64_t level = 0, rows = 1; level < s.levels; ++level, rows *= 2) {
      const std::int64_t splits = level + 1 == s.levels ? s.last : level == 0 ? s.first : 2;
      cols /= splits;
      for (std::int64_t h = 0; h < splits; ++h) {
        std::uint8_t* to = index[level][h];
        for (std::int64_t c = h * cols; c < (h + 1) * cols; ++c)
          for (std::int64_t i = 0; i < 2 * rows; ++i)
            for (std::int64_t b = 0; b < r.bytes; ++b) {
              const std::int64_t from =
                  level == 0 ? c * r.cell_bytes + byte_in_cell(r, b) : (c * rows + i % rows) * r.bytes + b;
              *to++ = static_cast<std::uint8_t>(i / rows * static_cast<std::int64_t>(kLine) + from);
            }
      }
    }
  }
};

/// The permutes of blocks of MergedShape{kLevels, kFirst, kLast}, in registers.
template <std::size_t kLevels, std::size_t kFirst, std::size_t kLast>
class Merge {
  static constexpr std::size_t splits(std::size_t level) {
    return level + 1 == kLevels ? kLast : level == 0 ? kFirst : 2;
  }
  static constexpr std::size_t sets(std::size_t level) { return level == 0 ? 1 : sets(level - 1) * splits(level - 1); }
  static_assert(kLevels <= kMostMergeLevels && kLast <= kMostMergeSplits);

 public:
  using D = hn::CappedTag<std::uint8_t, kLine>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kRows = std::size_t{1} << kLevels;
  static constexpr std::size_t kCols = sets(kLevels);
  static constexpr std::size_t kReadBytes = kLevels >= 3 ? kLine / 2 : kLine;  ///< of each row

  explicit Merge(const MergeTables& t) {
#pragma GCC unroll 4
    for (std::size_t l = 0; l < kLevels; ++l)
#pragma GCC unroll 3
      for (std::size_t h = 0; h < splits(l); ++h) index_[l][h] = hn::Load(D(), t.index[l][h]);
  }

  /// Calls emit(j, the piece of column j) for j in [0, kCols). Row i's cells start at row(i).
  template <class Row, class Emit>
  HWY_INLINE void pieces(const Row& row, const Emit& emit) const {
    V v[kRows];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) v[i] = load_row(row(i));
    merge<0>(v, emit);
  }

 private:
  static HWY_INLINE V load_row(const std::uint8_t* row) {
    if constexpr (kReadBytes == kLine)
      return hn::LoadU(D(), row);
    else
      return hn::ZeroExtendVector(D(), hn::LoadU(hn::Half<D>(), row));
  }
  /// v holds the sets of a level, each of kRows / 2^kLevel vectors.
  template <std::size_t kLevel, class Emit>
  HWY_INLINE void merge(const V* v, const Emit& emit) const {
    constexpr std::size_t kSets = sets(kLevel);
    constexpr std::size_t kSplits = splits(kLevel);
    constexpr std::size_t kEach = kRows >> kLevel;
    V next[kSets * kSplits * kEach / 2];
#pragma GCC unroll 16
    for (std::size_t s = 0; s < kSets; ++s)
#pragma GCC unroll 8
      for (std::size_t g = 0; g < kEach / 2; ++g)
#pragma GCC unroll 3
        for (std::size_t h = 0; h < kSplits; ++h) {
          const V merged = permute_two(v[s * kEach + 2 * g], index_[kLevel][h], v[s * kEach + 2 * g + 1]);
          if constexpr (kLevel + 1 == kLevels)
            emit(s * kSplits + h, merged);
          else
            next[(s * kSplits + h) * (kEach / 2) + g] = merged;
        }
    if constexpr (kLevel + 1 < kLevels) merge<kLevel + 1>(next, emit);
  }

  V index_[kLevels][kMostMergeSplits];
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
