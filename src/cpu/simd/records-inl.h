// Blocks of records: read from rows of cells, left as columns of records one behind the other. Included once per
// instruction set.
//
// A block type has kRows, kCols, and move(row, room): row i's cells start at row(i), all rows one pitch apart; column
// j's records go to room(j). It reads read_bytes() of each row and writes up to spill_bytes() behind each column's
// records; with kMasked no byte behind the cells is read, and none behind the records is written.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_RECORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_RECORDS_INL_H_
#undef RESTRIDE_CPU_SIMD_RECORDS_INL_H_
#else
#define RESTRIDE_CPU_SIMD_RECORDS_INL_H_
#endif

#include "src/base/checked.h"
#include "src/cpu/args.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Byte b of a record in dst is this one of its cell in src.
inline std::int64_t byte_in_cell(const RecordShape& r, std::int64_t b) {
  if (!r.reversed) return b;
  return r.bytes - r.unit_bytes - b / r.unit_bytes * r.unit_bytes + b % r.unit_bytes;
}

/// Records of `record` bytes, `cell` bytes apart, that span `bytes` or more.
inline std::int64_t records_that_span(std::int64_t bytes, std::int64_t record, std::int64_t cell) {
  return ceil_div(bytes - record, cell) + 1;
}

/// Where each byte of records that are spread into units comes from, in the cells.
template <std::size_t N>
void fill_spread(const RecordShape& r, std::int64_t unit, std::uint8_t (&spread)[N]) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(N); ++i) {
    const std::int64_t b = i % unit;
    spread[i] = static_cast<std::uint8_t>(b < r.bytes ? i / unit * r.cell_bytes + byte_in_cell(r, b) : 0);
  }
}
/// Where each of the `bytes` of packed records comes from, in the units.
template <std::size_t N>
void fill_pack(std::int64_t record, std::int64_t unit, std::int64_t bytes, std::uint8_t (&pack)[N]) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(N); ++i)
    pack[i] = static_cast<std::uint8_t>(i < bytes ? i / record * unit + i % record : 0);
}

#if HWY_TARGET != HWY_SCALAR
/// Records of up to kUnit bytes, in cells of up to kUnit bytes (any for kUnit = 16): each is spread into a unit, the
/// block is transposed, and its columns are packed again.
template <std::size_t kUnit>
class UnitRecords {
 public:
  using B = Block<kUnit>;
  using V = typename B::V;
  using D = typename B::D;
  using D8 = hn::Repartition<std::uint8_t, D>;
  static constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  static constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  static constexpr bool kMasked = false;

  explicit UnitRecords(const RecordShape& r) {
    const auto unit = static_cast<std::int64_t>(kUnit);
    const std::int64_t record = r.bytes;
    piece_bytes_ = record * kCols;
    fill_spread(r, unit, spread_);
    fill_pack(record, unit, kPackBytes / unit * record, pack_);
  }

  std::int64_t read_bytes() const { return 16; }
  std::int64_t spill_bytes() const { return kPackBytes - kPackBytes * piece_bytes_ / 16; }

  template <class Row, class Room>
  HWY_INLINE void move(const Row& row, const Room& room) const {
    const D8 d8;
    const auto spread = hn::LoadDup128(d8, spread_);
    B::transpose_rows(
        row,
        [&](V v) RESTRIDE_INLINE_LAMBDA { return hn::BitCast(D(), hn::TableLookupBytes(hn::BitCast(d8, v), spread)); },
        [&](std::size_t j, V v) RESTRIDE_INLINE_LAMBDA { pack(hn::BitCast(d8, v), room(j)); });
  }

 private:
#if HWY_TARGET <= HWY_AVX3_DL
  static constexpr std::int64_t kPackBytes = 64;
  HWY_INLINE void pack(hn::Vec<D8> v, std::uint8_t* to) const {
    hn::StoreU(hn::Vec<D8>{_mm512_permutexvar_epi8(hn::Load(D8(), pack_).raw, v.raw)}, D8(), to);
  }
#else
  static constexpr std::int64_t kPackBytes = 16;
  HWY_INLINE void pack(hn::Vec<D8> v, std::uint8_t* to) const {
    store_pieces(D8(), hn::TableLookupBytes(v, hn::LoadDup128(D8(), pack_)), to);
  }
  /// The 16-byte pieces of a vector, each where the last one's records end.
  template <class DT>
  HWY_INLINE void store_pieces(DT d, hn::Vec<DT> v, std::uint8_t* to) const {
    constexpr std::size_t kBytes = hn::MaxLanes(DT());
    if constexpr (kBytes <= 16) {
      hn::StoreU(v, d, to);
    } else {
      const hn::Half<DT> half;
      store_pieces(half, hn::LowerHalf(half, v), to);
      store_pieces(half, hn::UpperHalf(half, v), to + static_cast<std::int64_t>(kBytes / 32) * piece_bytes_);
    }
  }
#endif

  alignas(64) std::uint8_t spread_[16];
  alignas(64) std::uint8_t pack_[64];
  std::int64_t piece_bytes_ = 0;  ///< of the records in 16 bytes of units
};
#endif

#if HWY_TARGET <= HWY_AVX3_DL
/// As UnitRecords, by lines: permutes of bytes spread a row's cells over a vector, as many as a column has rows, and
/// pack each column. Cells have up to kUnit bytes. Nothing behind them is read, nothing behind a column written.
template <std::size_t kUnit>
class SquareRecords {
 public:
  using B = SquareBlock<kUnit>;
  using V = typename B::V;
  using D = typename B::D;
  static constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  static constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  static constexpr bool kMasked = true;

  explicit SquareRecords(const RecordShape& r) {
    const auto unit = static_cast<std::int64_t>(kUnit);
    const std::int64_t record = r.bytes;
    packed_bytes_ = record * kRows;
    read_bytes_ = (kCols - 1) * r.cell_bytes + record;
    fill_spread(r, unit, spread_);
    fill_pack(record, unit, packed_bytes_, pack_);
  }

  template <class Row, class Room>
  HWY_INLINE void move(const Row& row, const Room& room) const {
    const __m512i spread = _mm512_load_si512(spread_);
    const __m512i pack = _mm512_load_si512(pack_);
    const __mmask64 cells = ~std::uint64_t{0} >> (64 - read_bytes_);
    const __mmask64 packed = ~std::uint64_t{0} >> (64 - packed_bytes_);
    const std::uint8_t* from = row(0);
    const std::ptrdiff_t pitch = row(1) - from;
    B::transpose_loaded(
        [&](std::size_t) RESTRIDE_INLINE_LAMBDA {
          const __m512i v = _mm512_maskz_loadu_epi8(cells, from);
          from += pitch;
          return hn::BitCast(D(), hn::Vec<hn::CappedTag<std::uint8_t, 64>>{_mm512_permutexvar_epi8(spread, v)});
        },
        [&](std::size_t j, V v)
            RESTRIDE_INLINE_LAMBDA { _mm512_mask_storeu_epi8(room(j), packed, _mm512_permutexvar_epi8(pack, v.raw)); });
  }

 private:
  alignas(64) std::uint8_t spread_[64];
  alignas(64) std::uint8_t pack_[64];
  std::int64_t packed_bytes_;
  std::int64_t read_bytes_;
};
#endif

/// Records of any length, copied by 16 bytes: what lies behind one is written over by the next.
template <int kPieces>
class LongRecords {
 public:
  static constexpr std::int64_t kRows = 4;
  static constexpr std::int64_t kCols = 4;
  static constexpr bool kMasked = false;

  explicit LongRecords(const RecordShape& r) : record_(r.bytes), cell_(r.cell_bytes) {}
  std::int64_t read_bytes() const { return (kCols - 1) * cell_ + 16 * kPieces; }
  std::int64_t spill_bytes() const { return 16 * kPieces - record_; }

  template <class Row, class Room>
  HWY_INLINE void move(const Row& row, const Room& room) const {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < static_cast<std::size_t>(kCols); ++j) {
      std::uint8_t* to = room(j);
      const std::int64_t cell = static_cast<std::int64_t>(j) * cell_;
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < kRows; ++i, to += record_)
        for (int k = 0; k < kPieces; ++k) std::memcpy(to + 16 * k, row(i) + cell + 16 * k, 16);
    }
  }

 private:
  std::int64_t record_;
  std::int64_t cell_;
};

/// Records of up to 16 bytes, unit by unit: reversed where there are no vectors.
class ReversedRecords {
 public:
  static constexpr std::int64_t kRows = 1;
  static constexpr std::int64_t kCols = 1;
  static constexpr bool kMasked = false;

  explicit ReversedRecords(const RecordShape& r) : record_(r.bytes) {
    for (std::int64_t b = 0; b < record_; ++b) from_[b] = static_cast<std::uint8_t>(byte_in_cell(r, b));
  }

  std::int64_t read_bytes() const { return record_; }
  std::int64_t spill_bytes() const { return 0; }

  template <class Row, class Room>
  HWY_INLINE void move(const Row& row, const Room& room) const {
    for (std::int64_t b = 0; b < record_; ++b) room(0)[b] = row(0)[from_[b]];
  }

 private:
  std::int64_t record_;
  std::uint8_t from_[16] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
