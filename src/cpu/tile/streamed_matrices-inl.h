// Dense matrices past the caches, for vectors of 64 bytes: bands of columns are put together in the first cache and
// leave it in whole lines. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_STREAMED_MATRICES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_STREAMED_MATRICES_INL_H_
#undef RESTRIDE_CPU_TILE_STREAMED_MATRICES_INL_H_
#else
#define RESTRIDE_CPU_TILE_STREAMED_MATRICES_INL_H_
#endif

#include "src/cpu/simd/column_writer-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/matrices-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3
namespace {

/// Prefetches src in its own order, a matrix or more ahead: into the second cache, or with `near` into both.
class MatrixPrefetcher {
 public:
  MatrixPrefetcher(const MatrixArgs& a, const std::uint8_t* src, std::int64_t begin, std::int64_t end)
      : near_(a.near), src_(src), bytes_(a.rows * a.row_src_stride), left_(end - begin), at_(a.nest, begin) {
    enter();
    moved(std::max(a.near ? kNearAheadBytes : kAheadBytes, bytes_));
  }
  /// As many bytes were moved.
  HWY_INLINE void moved(std::int64_t bytes) {
    for (owed_ += bytes; owed_ > 0 && left_ > 0; owed_ -= 64) {
      if (near_)
        __builtin_prefetch(line_, 0, 3);
      else
        prefetch_to_l2(line_);
      line_ += 64;
      if (line_ >= end_) next();
    }
  }

 private:
  static constexpr std::int64_t kAheadBytes = 32 << 10;
  static constexpr std::int64_t kNearAheadBytes = 20 << 10;  ///< half of the first cache

  HWY_INLINE void next() {
    owed_ += line_ - end_;  // behind the matrix
    if (--left_ == 0) return;
    at_.next();
    enter();
  }
  HWY_INLINE void enter() {
    line_ = src_ + at_.src();
    end_ = line_ + bytes_;
  }

  const bool near_;
  const std::uint8_t* src_;
  std::int64_t bytes_;  ///< of a matrix
  std::int64_t left_;   ///< matrices that are not prefetched yet
  NestCursor at_;       ///< the matrix that is being prefetched
  const std::uint8_t* line_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::int64_t owed_ = 0;
};

/// Moves matrices into bands and out of them, by the kernel itself, which is given some rows of a band at a time. One
/// for all units.
HWY_NOINLINE void stream_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                                  std::int64_t end) noexcept {
  const std::int64_t unit = a.dst_unit;
  const std::int64_t column = a.rows * unit;
  const std::int64_t pitch = streamed_column_pitch(column);
  const std::int64_t band_cols = streamed_band_cols(column, unit);
  const std::int64_t block = 16 / unit;  // rows and columns of the least
  const std::int64_t part_rows = streamed_part_rows(unit);
  alignas(64) std::byte room[kLine + kLongBandBytes + kLine];
  std::byte* const band = room + kLine;
  MatrixArgs part;
  part.dst_unit = part.src_unit = a.dst_unit;
  part.row_src_stride = a.row_src_stride;
  part.col_dst_stride = pitch;
  ColumnWriter writer;
  MatrixPrefetcher prefetcher(a, reinterpret_cast<const std::uint8_t*>(src), begin, end);
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end; ++task, at.next())
    for (std::int64_t c = 0; c < a.cols; c += band_cols) {
      const std::int64_t cols = std::min(band_cols, a.cols - c);
      const std::int64_t again = std::max<std::int64_t>(block - cols, 0);  // a block is filled by columns before it
      const std::byte* from = src + at.src() + (c - again) * unit;
      part.cols = cols + again;
      for (std::int64_t r = 0; r < a.rows; r += part_rows) {
        const std::int64_t left = std::min(a.rows - r, part_rows);
        part.rows = std::min(ceil_div(left, block) * block, a.rows);
        const std::int64_t first = std::min(r, a.rows - part.rows);
        a.kernel(part, band + first * unit, from + first * a.row_src_stride, 0, 1);
        prefetcher.moved(left * cols * unit);
      }
      writer.write(reinterpret_cast<std::uint8_t*>(dst) + at.dst() + c * column,
                   reinterpret_cast<const std::uint8_t*>(band) + again * pitch, pitch, cols,
                   static_cast<std::size_t>(column));
    }
  writer.finish();
}

}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
