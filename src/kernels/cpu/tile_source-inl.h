// Where the blocks of a tile read its rows from. Included once per instruction set.
//
// Both have open(tile, asker) before a tile and reach(tile, c) before each column of blocks; transpose(r, c, emit) is
// Block::transpose of the block there, and ragged(tile, r, c, out) the same into memory, for ends. row_steps() is the
// part of a TileAsker's steps that open takes for each row.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_TILE_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_TILE_SOURCE_INL_H_
#undef RESTRIDE_KERNELS_CPU_TILE_SOURCE_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_TILE_SOURCE_INL_H_
#endif

#include "src/kernels/cpu/args.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/tile.h"
#include "src/kernels/cpu/tile_walk-inl.h"
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

/// The columns of a block, one vector behind the other.
template <class B>
struct alignas(64) BlockColumns {
  std::uint8_t bytes[B::kCols * B::kVectorBytes];
  typename B::V column(std::size_t j) const { return load(typename B::D(), bytes + j * B::kVectorBytes); }
};

/// A stage of rows at one pitch: all of them at once, or a piece of each before the blocks that read it; that one stays
/// in the first cache beside what was asked for.
template <class B>
class StagedRows {
  static constexpr auto kUnitBytes = static_cast<std::int64_t>(B::kUnitBytes);

 public:
  /// A cast that narrows reads most and shuffles least: some of the next tile is asked for while this one is converted.
  explicit StagedRows(const CpuArgs& a) : a_(a), row_steps_(a.src_unit > a.dst_unit ? 1 : 0) {}

  std::int64_t row_steps() const { return row_steps_; }

  HWY_INLINE void open(const TilePlace& t, TileAsker& asker) {
    const bool pieces = a_.cast_run == nullptr && asked_side_by_side(a_, t);
    piece_cols_ = pieces ? kPieceBytes / kUnitBytes : t.cols;
    next_ = 0;
    if (a_.cast_run == nullptr) return;
    for (std::int64_t r = 0; r < t.rows; ++r) {
      asker.advance(row_steps_);
      a_.cast_run(stage_ + r * kStagePitch, t.src + t.row_offsets[r], static_cast<std::size_t>(t.cols));
    }
    next_ = INT64_MAX;
    first_ = 0;
  }
  HWY_INLINE void reach(const TilePlace& t, std::int64_t c) {
    if (c != next_) return;
    first_ = c;
    next_ = c + piece_cols_;
    const std::uint8_t* from = t.src + c * kUnitBytes;
    const auto bytes = static_cast<std::size_t>(std::min(piece_cols_, t.cols - c)) * B::kUnitBytes;
    if (bytes == kPieceBytes)
      for (std::int64_t r = 0; r < t.rows; ++r)
        std::memcpy(stage_ + r * kStagePitch, from + t.row_offsets[r], kPieceBytes);
    else
      for (std::int64_t r = 0; r < t.rows; ++r) copy_bytes(stage_ + r * kStagePitch, from + t.row_offsets[r], bytes);
  }
  template <class Emit>
  HWY_INLINE void transpose(std::int64_t r, std::int64_t c, const Emit& emit) const {
    B::transpose(at(r, c), kStagePitch, emit);
  }
  void ragged(const TilePlace&, std::int64_t r, std::int64_t c, BlockColumns<B>* out) const {
    to_memory(at(r, c), out);
  }

 private:
  static constexpr std::int64_t kPieceBytes = 128;

  HWY_INLINE const std::uint8_t* at(std::int64_t r, std::int64_t c) const {
    return stage_ + r * kStagePitch + (c - first_) * kUnitBytes;
  }
  /// Not inlined: ragged ends take it, for every sink.
  static HWY_NOINLINE void to_memory(const std::uint8_t* HWY_RESTRICT in, BlockColumns<B>* out) {
    B::transpose(in, kStagePitch, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
      store(v, typename B::D(), out->bytes + j * B::kVectorBytes);
    });
  }

  const CpuArgs& a_;
  std::int64_t row_steps_;
  std::int64_t piece_cols_ = 0;
  std::int64_t first_ = 0;  ///< column that the stage starts with
  std::int64_t next_ = 0;   ///< column that it ends before
  alignas(64) std::uint8_t stage_[kMaxTileRows * kStagePitch];
};

/// Rows where they are, for those that spread over the first cache by themselves: to stage them costs more than to read
/// what a block has of a row, 16 bytes mostly.
template <class B>
class RowsInPlace {
  static constexpr auto kUnitBytes = static_cast<std::int64_t>(B::kUnitBytes);

 public:
  static constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  explicit RowsInPlace(const CpuArgs&) {}

  static constexpr std::int64_t row_steps() { return 0; }

  HWY_INLINE void open(const TilePlace& t, TileAsker&) {
    const std::int64_t rows = ceil_div(t.rows, kRows) * kRows;
    for (std::int64_t r = 0; r < rows; ++r) rows_[r] = t.src + t.row_offsets[std::min(r, t.rows - 1)];
  }
  HWY_INLINE void reach(const TilePlace&, std::int64_t) {}
  template <class Emit>
  HWY_INLINE void transpose(std::int64_t r, std::int64_t c, const Emit& emit) const {
    const std::uint8_t* const* rows = rows_ + r;
    const std::int64_t at = c * kUnitBytes;
    B::transpose_rows([=](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + at; }, emit);
  }
  /// Reads no further than the tile goes.
  HWY_NOINLINE void ragged(const TilePlace& t, std::int64_t r, std::int64_t c, BlockColumns<B>* out) const {
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::int64_t>(t.cols - c, B::kCols)) * B::kUnitBytes;
    constexpr std::size_t kRowBytes = B::kCols * B::kUnitBytes;
    alignas(64) std::uint8_t block[B::kRows * kRowBytes];
    for (std::size_t i = 0; i < B::kRows; ++i)
      std::memcpy(block + i * kRowBytes, rows_[r + static_cast<std::int64_t>(i)] + c * kUnitBytes, bytes);
    B::transpose(block, kRowBytes, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
      store(v, typename B::D(), out->bytes + j * B::kVectorBytes);
    });
  }

 private:
  const std::uint8_t* rows_[kMaxTileRows + B::kRows];
};

/// True where tiles like t are best read in place, with CpuArgs::near.
template <class B>
bool reads_in_place(const CpuArgs& a, const TilePlace& t) {
  if (a.cast_run != nullptr) return false;
  return B::kCols * B::kUnitBytes == kLine || spread_over_sets(t);  // whole lines are loaded once
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
