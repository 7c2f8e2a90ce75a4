// The order of tiles in a transpose, and prefetching the next one early. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_WALK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_WALK_INL_H_
#undef RESTRIDE_CPU_TILE_WALK_INL_H_
#else
#define RESTRIDE_CPU_TILE_WALK_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// True for the instruction sets that AMD's processors have: AVX-512 with byte permutes, and AVX2. Intel's processors
/// have them, too; whether memory is read as AMD's follow it is then left to the plan.
inline constexpr bool kAmds = HWY_TARGET <= HWY_AVX3_DL || HWY_TARGET == HWY_AVX2;

/// A tile of the walk: where its rows start in src, its columns in dst.
struct TilePlace {
  const std::uint8_t* src = nullptr;  ///< + row_offsets[r] is row r's first column
  std::uint8_t* dst = nullptr;        ///< the row set's first row of column 0
  std::int64_t first_row = 0;         ///< of this tile
  std::int64_t rows = 0;
  std::int64_t first_col = 0;  ///< counted from the band's first
  std::int64_t cols = 0;
  bool opens_band = false;  ///< the first tile of a task: the column table is stale
  bool first_rows = false;  ///< no tile above it in its task
  bool last_rows = false;   ///< no tile below it in its task
  std::int64_t band_first_col = 0;
  std::int64_t band_cols = 0;
  std::int64_t row_offsets[kMaxTileRows];
};

/// Walks the tiles of tasks [begin, end) in order: across the band first, so that source rows are read on and on,
/// then down.
class TileWalk {
 public:
  TileWalk(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) noexcept
      : a_(a),
        dst_(dst),
        src_(src),
        bands_(tile_bands(a)),
        chunks_(tile_chunks(a)),
        band_(begin % bands_),
        chunk_(begin / bands_ % chunks_),
        left_(end - begin),
        row_(chunk_ * a.chunk_rows),
        outer_(a.nest, begin / bands_ / chunks_) {}

  /// False when there is none left.
  bool next(TilePlace* t) noexcept {
    if (left_ == 0) return false;
    const std::int64_t chunk_end = std::min(a_.rows, (chunk_ + 1) * a_.chunk_rows);
    t->band_first_col = band_ * a_.band_cols;
    t->band_cols = std::min(a_.band_cols, a_.cols - t->band_first_col);
    t->first_row = row_;
    t->rows = std::min(a_.tile_rows, chunk_end - row_);
    t->first_col = col_;
    t->cols = std::min(a_.tile_cols, t->band_cols - col_);
    t->src = src_ + outer_.src() + (t->band_first_col + col_) * a_.src_unit;  // the column set is dense in src
    t->dst = dst_ + outer_.dst();
    t->first_rows = row_ == chunk_ * a_.chunk_rows;
    t->last_rows = row_ + t->rows == chunk_end;
    t->opens_band = t->first_rows && col_ == 0;
    fill_offsets(a_.row_set, Side::kSrc, row_, t->rows, t->row_offsets);
    col_ += t->cols;
    if (col_ == t->band_cols) {
      col_ = 0;
      row_ += t->rows;
      if (t->last_rows) next_task();
    }
    return true;
  }

 private:
  void next_task() noexcept {
    --left_;
    if (++band_ == bands_) {
      band_ = 0;
      if (++chunk_ == chunks_) {
        chunk_ = 0;
        if (left_ > 0) outer_.next();
      }
    }
    row_ = chunk_ * a_.chunk_rows;
  }

  const TileArgs& a_;
  std::uint8_t* dst_;
  const std::uint8_t* src_;
  std::int64_t bands_;
  std::int64_t chunks_;
  std::int64_t band_;
  std::int64_t chunk_;
  std::int64_t left_;
  std::int64_t row_;
  std::int64_t col_ = 0;
  NestCursor outer_;
};

/// The tiles of a TileWalk in turn, and the two that follow each.
class TileQueue {
 public:
  /// Once a call, so not inlined.
  HWY_NOINLINE TileQueue(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                         std::int64_t end) noexcept
      : walk_(a, dst, src, begin, end) {
    fill();
  }
  bool empty() const noexcept { return first_ == end_; }
  const TilePlace& front() const noexcept { return places_[first_ % kPlaces]; }
  void pop() noexcept {
    ++first_;
    fill();
  }
  /// The k-th tile after the front, up to kAhead; null behind the last.
  const TilePlace* ahead(unsigned k) const noexcept {
    return k < end_ - first_ ? &places_[(first_ + k) % kPlaces] : nullptr;
  }

 private:
  static constexpr unsigned kAhead = 2;
  static constexpr unsigned kPlaces = 4;  // a power of two

  void fill() noexcept {
    while (end_ - first_ <= kAhead && walk_.next(&places_[end_ % kPlaces])) ++end_;
  }

  TileWalk walk_;
  unsigned first_ = 0;
  unsigned end_ = 0;
  TilePlace places_[kPlaces];
};

/// True where the rows of t are prefetched a line of several at a time: as the plan says, but for tiles that the ends
/// of rows or columns leave too small.
inline bool prefetched_side_by_side(const TileArgs& a, const TilePlace& t) noexcept {
  return a.side_by_side && t.rows >= kSideBySide && t.cols * a.src_unit >= kSideBySideBytes;
}

/// Bytes behind the start of a row from which on its lines are prefetched: the line that a row starts in the middle of
/// is the last of the tile before it, unless that is in another band.
inline std::int64_t prefetched_from(const TilePlace& t) noexcept {
  return t.first_col == 0 ? 0 : static_cast<std::int64_t>(kLine) - 1;
}

/// Prefetches the next tile's rows while this one is worked on, evenly over the `steps` that its work is counted in:
/// row by row where the prefetcher runs ahead on each, else line by line of several rows, or two lines of each row.
class TilePrefetcher {
 public:
  TilePrefetcher(const TileArgs& a, const TileQueue& queue, std::int64_t steps) noexcept : a_(a), steps_(steps) {
    const TilePlace* even = queue.ahead(1);
    if (even == nullptr) return;
    const TilePlace* odd = a.odd_ahead ? queue.ahead(2) : even;
    if (odd == nullptr || odd->rows != even->rows) odd = even;
    rows_ = even->rows;
    row_bytes_ = even->cols * a.src_unit;
    even_ = start_of(*even);
    odd_ = start_of(*odd);
    if (prefetched_side_by_side(a, *even)) {
      const bool whole = even->first_col == 0 || odd->first_col == 0 || row_bytes_ % kLineBytes != 0;
      last_line_ = row_bytes_ / kLineBytes * kLineBytes - (whole ? 0 : kLineBytes);
      const std::int64_t lines = last_line_ / kLineBytes + 1;
      pieces_ = kAmds && prefetched_by_pairs(a) ? ceil_div(rows_, kSideBySide / 2) * ceil_div(lines, 2)
                                                : ceil_div(rows_, kSideBySide) * lines;
    } else {
      pieces_ = rows_;
    }
  }
  HWY_INLINE void advance(std::int64_t steps) noexcept {
    owed_ += steps * pieces_;
    if (owed_ >= steps_ && prefetched_ < pieces_) prefetch();
  }

 private:
  static constexpr auto kLineBytes = static_cast<std::int64_t>(kLine);

  /// Where the rows of a tile are prefetched from.
  struct Start {
    const std::uint8_t* src = nullptr;
    const std::int64_t* offsets = nullptr;
    std::int64_t from = 0;  ///< bytes that src lies behind the rows' start
  };
  static Start start_of(const TilePlace& t) noexcept {
    return {t.src + prefetched_from(t), t.row_offsets, prefetched_from(t)};
  }

  /// Two lines of each of the next four rows.
  HWY_INLINE void prefetch_pairs() noexcept {
    const std::uint8_t* from = even_.src + line_;
    const auto at = [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
      return from + even_.offsets[row_ + i / 2] + std::min(i % 2 * kLineBytes, last_line_ - line_);
    };
    prefetch_side_by_side<2, kSideBySide>((rows_ - row_) * 2, at);
    row_ += kSideBySide / 2;
    if (row_ >= rows_) {
      row_ = 0;
      line_ += 2 * kLineBytes;
    }
  }

  /// Not inlined: the blocks' vectors need the registers.
  HWY_NOINLINE void prefetch() noexcept {
    do {
      if (last_line_ < 0) {
        const Start& from = prefetched_ % 2 != 0 ? odd_ : even_;
        const std::uint8_t* row = from.src + from.offsets[prefetched_];
        const std::uint8_t* const end = row - from.from + row_bytes_;
        row -= reinterpret_cast<std::uintptr_t>(row) % kLine;
        for (; row < end; row += kLine) prefetch_line(a_, row);
      } else if (kAmds && prefetched_by_pairs(a_)) {
        prefetch_pairs();
      } else {
        const std::uint8_t* even = even_.src + line_;
        const std::uint8_t* odd = odd_.src + line_;
        const auto at = [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
          return i % 2 != 0 ? odd + odd_.offsets[row_ + i] : even + even_.offsets[row_ + i];
        };
        if (a_.near)
          prefetch_side_by_side<0, kSideBySide>(rows_ - row_, at);
        else
          prefetch_side_by_side<2, kSideBySide>(rows_ - row_, at);
        line_ += kLineBytes;
        if (line_ > last_line_) {
          line_ = 0;
          row_ += kSideBySide;
        }
      }
      owed_ -= steps_;
      ++prefetched_;
    } while (owed_ >= steps_ && prefetched_ < pieces_);
  }

  const TileArgs& a_;
  Start even_;
  Start odd_;
  std::int64_t rows_ = 0;
  std::int64_t row_bytes_ = 0;
  std::int64_t steps_;
  std::int64_t last_line_ = -1;  ///< of a row, in bytes; -1: it is prefetched as a whole
  std::int64_t row_ = 0;
  std::int64_t line_ = 0;
  std::int64_t pieces_ = 0;  ///< that it is prefetched in
  std::int64_t prefetched_ = 0;
  std::int64_t owed_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
