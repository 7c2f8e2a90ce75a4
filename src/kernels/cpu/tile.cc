#include "src/kernels/cpu/tile.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/tile.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/sink-inl.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

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
  TileWalk(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) noexcept
      : a_(a),
        dst_(dst),
        src_(src),
        bands_((a.cols + a.band_cols - 1) / a.band_cols),
        chunks_((a.rows + a.chunk_rows - 1) / a.chunk_rows),
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

  const CpuArgs& a_;
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

template <std::size_t kUnit, class Sink>
void run_tiles(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  using B = Block<kUnit>;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  alignas(64) std::uint8_t stage[kMaxTileRows * kStagePitch];
  Columns columns;
  Sink sink(columns);
  TilePlace places[2];
  TileWalk walk(a, dst, src, begin, end);

  int now = 0;
  bool more = walk.next(&places[0]);
  while (more) {
    const TilePlace& t = places[now];
    TilePlace& ahead = places[now ^ 1];
    more = walk.next(&ahead);

    if (t.opens_band) columns.open(a, t, Sink::kByLine);
    const auto row_bytes = static_cast<std::size_t>(t.cols * a.dst_unit);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      std::uint8_t* to = stage + r * kStagePitch;
      const std::uint8_t* from = t.src + t.row_offsets[r];
      if (a.cast_run == nullptr)
        copy_bytes(to, from, row_bytes);
      else
        a.cast_run(to, from, static_cast<std::size_t>(t.cols));
    }

    // Shuffle; between blocks, ask for the next tile's rows, evenly spread.
    const std::int64_t blocks = ((t.cols + kCols - 1) / kCols) * ((t.rows + kRows - 1) / kRows);
    const std::int64_t ahead_rows = more ? ahead.rows : 0;
    const std::int64_t ahead_bytes = ahead.cols * a.src_unit;
    std::int64_t asked = 0;
    std::int64_t owed = 0;
    for (std::int64_t c = 0; c < t.cols; c += kCols) {
      const std::int64_t cols = std::min(kCols, t.cols - c);
      sink.open(t, t.first_col + c);
      for (std::int64_t r = 0; r < t.rows; r += kRows) {
        for (owed += ahead_rows; owed >= blocks && asked < ahead_rows; owed -= blocks, ++asked) {
          const std::uint8_t* p = ahead.src + ahead.row_offsets[asked];
          for (std::int64_t k = 0; k < ahead_bytes; k += 64) prefetch_to_l2(p + k);
          prefetch_to_l2(p + ahead_bytes - 1);
        }
        const std::int64_t bytes = std::min(kRows, t.rows - r) * static_cast<std::int64_t>(kUnit);
        const std::uint8_t* in = stage + r * kStagePitch + c * static_cast<std::int64_t>(kUnit);
        if (bytes == static_cast<std::int64_t>(B::kVectorBytes) && cols == kCols) {
          B::transpose(in, kStagePitch, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA { sink.put(j, v); });
        } else {
          B::transpose(in, kStagePitch, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
            if (static_cast<std::int64_t>(j) < cols) sink.put_part(j, v, bytes);
          });
        }
        sink.advance();
      }
      sink.close(t.first_col + c, cols, t.last_rows);
    }
    now ^= 1;
  }
  sink.finish();
}

/// One small matrix of whole blocks: straight from src to dst, nothing staged, nothing tabled.
template <std::size_t kUnit>
HWY_INLINE bool run_matrix(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src) {
  using B = Block<kUnit>;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  const bool fits = a.tasks == 1 && a.nest.rank == 0 && a.row_set.rank == 1 && a.col_set.rank == 1 &&
                    a.cast_run == nullptr && a.rows % kRows == 0 && a.cols % kCols == 0 &&
                    a.rows * a.cols * kUnitBytes <= (32 << 10);
  if (!fits) return false;
  const std::int64_t from_pitch = a.row_set.modes[0].src_stride;
  const std::int64_t to_pitch = a.col_set.modes[0].dst_stride;
  for (std::int64_t c = 0; c < a.cols; c += kCols)
    for (std::int64_t r = 0; r < a.rows; r += kRows) {
      std::uint8_t* to = dst + c * to_pitch + r * kUnitBytes;
      B::transpose(src + r * from_pitch + c * kUnitBytes, from_pitch,
                   [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                     store(v, typename B::D(), to + static_cast<std::int64_t>(j) * to_pitch);
                   });
    }
  return true;
}

template <std::size_t kUnit>
void tile(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
          std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  if (!a.stream && run_matrix<kUnit>(a, dst, src)) return;
  if (!a.stream)
    run_tiles<kUnit, DirectSink<kUnit>>(a, dst, src, begin, end);
  else if (lines_align(a, dst))
    run_tiles<kUnit, LineSink<kUnit>>(a, dst, src, begin, end);
#if HWY_TARGET <= HWY_AVX3
  else if constexpr (kCarries<kUnit>) {
    if (dst_divides(a, dst, sizeof(typename Block<kUnit>::Lane)))
      run_tiles<kUnit, CarrySink<kUnit>>(a, dst, src, begin, end);
    else
      run_tiles<kUnit, BufferSink<kUnit>>(a, dst, src, begin, end);
  }
#endif
  else
    run_tiles<kUnit, BufferSink<kUnit>>(a, dst, src, begin, end);
}

}  // namespace

CpuKernel pick_tile(int dst_unit) {
  switch (dst_unit) {
    case 1: return tile<1>;
    case 2: return tile<2>;
    case 4: return tile<4>;
    case 8: return tile<8>;
    default: return tile<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_tile);
CpuKernel tile_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_tile)(dst_unit); }
}  // namespace restride::kernels::cpu
#endif
