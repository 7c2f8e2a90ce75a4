// Where the blocks of a tile read its rows from. Included once per instruction set.
//
// Both have open(tile, the next, prefetcher) before a tile, reach(tile, c) before each column of blocks and step()
// before each block; transpose(r, c, emit) is Block::transpose of the block there, and ragged(tile, r, c, out) the same
// into memory, for ends. row_steps() is the part of a TilePrefetcher's steps that open takes for each row.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_SOURCE_INL_H_
#undef RESTRIDE_CPU_TILE_SOURCE_INL_H_
#else
#define RESTRIDE_CPU_TILE_SOURCE_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// The columns of a block, one vector behind the other.
template <class B>
struct alignas(64) BlockColumns {
  std::uint8_t bytes[B::kCols * B::kVectorBytes];
  typename B::V column(std::size_t j) const { return load(typename B::D(), bytes + j * B::kVectorBytes); }
};

/// A stage of rows at one pitch: all of them at once, or piece by piece, each row of a piece while the blocks of the
/// piece before it are worked on, so that reading and writing go on side by side: up to a fifth faster on Zen 5 than a
/// piece at a time. Pieces stay in the first cache beside the prefetched lines.
template <class B>
class StagedRows {
  static constexpr auto kUnitBytes = static_cast<std::int64_t>(B::kUnitBytes);
  static constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  static constexpr auto kCols = static_cast<std::int64_t>(B::kCols);

 public:
  /// A cast that narrows reads most and shuffles least: some of the next tile is prefetched while this one is
  /// converted. Where prefetches go into the second cache, the conversion would wait for them, because it reads from
  /// there, too. Bytes of units of 4 and more are prefetched so all the same: their tiles have few blocks.
  explicit StagedRows(const TileArgs& a) : a_(a), row_steps_(prefetched_while_converted(a) ? 1 : 0) {}

  std::int64_t row_steps() const { return row_steps_; }

  HWY_INLINE void open(const TilePlace& t, const TilePlace* next, TilePrefetcher& prefetcher) {
    if (a_.cast_run != nullptr) {
      for (std::int64_t r = 0; r < t.rows; ++r) {
        prefetcher.advance(row_steps_);
        a_.cast_run(stage_ + r * kStagePitch, t.src + t.row_offsets[r], static_cast<std::size_t>(t.cols));
      }
      end_ = INT64_MAX;
      return;
    }
    end_ = 0;
    if (coming_.tile != &t) coming_ = Piece(t, 0, piece_cols(t));
    next_ = next != nullptr && piece_cols(*next) < next->cols ? next : nullptr;
  }
  HWY_INLINE void reach(const TilePlace& t, std::int64_t c) {
    if (c == end_) take_piece(t, c);
  }
  /// Before each block.
  HWY_INLINE void step() {
    if (!kAmds || coming_.each == 0) return;
    const std::int64_t end = std::min(coming_.tile->rows, coming_.row + coming_.each);
    for (; coming_.row < end; ++coming_.row) stage_row(coming_.row);
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

  /// Some columns of a tile.
  struct Piece {
    Piece() = default;
    Piece(const TilePlace& t, std::int64_t c, std::int64_t most)
        : tile(&t), from(t.src + c * kUnitBytes), cols(std::min(most, t.cols - c)) {}
    const TilePlace* tile = nullptr;
    const std::uint8_t* from = nullptr;
    std::int64_t cols = 0;
    std::int64_t row = 0;   ///< that is staged next
    std::int64_t each = 0;  ///< rows a step; 0 where it has no kPieceBytes
    std::int64_t slot = 0;  ///< where in a staged row it starts
  };

  std::int64_t piece_cols(const TilePlace& t) const {
    return kAmds && prefetched_side_by_side(a_, t) ? kPieceBytes / kUnitBytes : t.cols;
  }
  /// The piece that comes is the one in use from column c on; the one behind it comes.
  HWY_NOINLINE void take_piece(const TilePlace& t, std::int64_t c) {
    stage_rest();
    shift_ = coming_.slot - c * kUnitBytes;
    end_ = c + coming_.cols;
    const std::int64_t steps = ceil_div(coming_.cols, kCols) * ceil_div(t.rows, kRows);
    const std::int64_t slot = kPieceBytes - coming_.slot;
    if (end_ < t.cols)
      coming_ = Piece(t, end_, piece_cols(t));
    else if (next_ != nullptr && coming_.cols * kUnitBytes <= kPieceBytes)  // not where the slot of the next is in use
      coming_ = Piece(*next_, 0, piece_cols(*next_));
    else
      coming_ = Piece();
    coming_.slot = slot;
    coming_.each = coming_.cols * kUnitBytes == kPieceBytes ? ceil_div(coming_.tile->rows, steps) : 0;
  }
  HWY_INLINE void stage_row(std::int64_t r) {
    copy_bytes(stage_ + r * kStagePitch + coming_.slot, coming_.from + coming_.tile->row_offsets[r], kPieceBytes);
  }
  /// What step has left.
  void stage_rest() {
    const TilePlace& t = *coming_.tile;
    const auto bytes = static_cast<std::size_t>(coming_.cols) * B::kUnitBytes;
    if (bytes == kPieceBytes)
      for (; coming_.row < t.rows; ++coming_.row) stage_row(coming_.row);
    else
      for (std::int64_t r = 0; r < t.rows; ++r)
        copy_bytes(stage_ + r * kStagePitch + coming_.slot, coming_.from + t.row_offsets[r], bytes);
  }
  HWY_INLINE const std::uint8_t* at(std::int64_t r, std::int64_t c) const {
    return stage_ + (shift_ + r * kStagePitch + c * kUnitBytes);
  }
  /// Not inlined: ragged ends take it, for every sink.
  static HWY_NOINLINE void to_memory(const std::uint8_t* HWY_RESTRICT in, BlockColumns<B>* out) {
    B::transpose(in, kStagePitch, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
      store(v, typename B::D(), out->bytes + j * B::kVectorBytes);
    });
  }

  static bool prefetched_while_converted(const TileArgs& a) {
    const bool far_by_pairs = kAmds && a.side_by_side && prefetched_by_pairs(a);
    return a.src_unit > a.dst_unit && (!far_by_pairs || (kUnitBytes == 1 && a.src_unit >= 4));
  }

  const TileArgs& a_;
  std::int64_t row_steps_;
  std::int64_t end_ = 0;  ///< column that the piece in use ends before
  Piece coming_;
  const TilePlace* next_ = nullptr;  ///< whose first piece follows the last of this tile
  std::int64_t shift_ = 0;           ///< from the stage to where column 0 of the tile's first row would be
  alignas(64) std::uint8_t stage_[kMaxTileRows * kStagePitch];
};

/// Rows read in place: if they spread over the first cache by themselves, or if blocks read whole lines. Staging such
/// rows costs more than reading a block's part of a row, mostly 16 bytes, where it lies.
template <class B>
class RowsInPlace {
  static constexpr auto kUnitBytes = static_cast<std::int64_t>(B::kUnitBytes);

 public:
  static constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  explicit RowsInPlace(const TileArgs&) {}

  static constexpr std::int64_t row_steps() { return 0; }

  HWY_INLINE void open(const TilePlace& t, const TilePlace*, TilePrefetcher&) {
    const std::int64_t rows = ceil_div(t.rows, kRows) * kRows;
    for (std::int64_t r = 0; r < rows; ++r) rows_[r] = t.src + t.row_offsets[std::min(r, t.rows - 1)];
  }
  HWY_INLINE void reach(const TilePlace&, std::int64_t) {}
  HWY_INLINE void step() {}
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

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
