// What the kernels of tile do: a tile of the walk that they share, its rows read (into a stage, or in place), its
// columns written.
#include <algorithm>
#include <string>
#include <vector>

// The walk is compiled here for one instruction set; it has no vectors.
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/walk-inl.h"

#include "src/cpu/tile/matrices.h"
#include "src/cpu/trace.h"

namespace restride::cpu {
namespace {

static_assert(kLineBytes == HWY_NAMESPACE::kLine, "kernels store lines of the size that bids count");

/// What the walk takes for the tensors; nothing is read there.
std::uint8_t* far_from_null() {
  return reinterpret_cast<std::uint8_t*>(std::uintptr_t{1} << 62);  // NOLINT(performance-no-int-to-ptr)
}

std::int64_t tiles_of(const TileArgs& a) {
  std::int64_t down = 0, across = 0;
  for (std::int64_t row = 0; row < a.rows; row += a.chunk_rows)
    down += ceil_div(std::min(a.chunk_rows, a.rows - row), a.tile_rows);
  for (std::int64_t col = 0; col < a.cols; col += a.band_cols)
    across += ceil_div(std::min(a.band_cols, a.cols - col), a.tile_cols);
  return a.nest.points() * down * across;
}

/// The lines that TilePrefetcher prefetches while the tile in front is moved, in its order.
void prefetch_rows(const TileArgs& a, const HWY_NAMESPACE::TileQueue& queue, const std::uint8_t* base,
                   const TraceBase& on) {
  const HWY_NAMESPACE::TilePlace* even = queue.ahead(1);
  if (even == nullptr) return;
  const HWY_NAMESPACE::TilePlace* odd = a.odd_ahead ? queue.ahead(2) : even;
  if (odd == nullptr || odd->rows != even->rows) odd = even;
  const std::int64_t row_bytes = even->cols * a.src_unit;
  const auto row = [&](std::int64_t r) {
    const HWY_NAMESPACE::TilePlace& t = r % 2 != 0 ? *odd : *even;
    return on.src + (t.src - base) + HWY_NAMESPACE::prefetched_from(t) + t.row_offsets[r];
  };
  const bool side_by_side = HWY_NAMESPACE::prefetched_side_by_side(a, *even);
  const bool whole = even->first_col == 0 || odd->first_col == 0 || row_bytes % kLineBytes != 0;
  const std::int64_t last = row_bytes / kLineBytes * kLineBytes - (whole ? 0 : kLineBytes);
  const bool pairs = side_by_side && prefetched_by_pairs(a);
  for (std::int64_t i = 0; pairs && i <= last; i += 2 * kLineBytes)
    for (std::int64_t r = 0; r < even->rows; ++r)
      for (const std::int64_t line : {i, std::min(i + kLineBytes, last)}) on.prefetch(row(r) + line);
  for (std::int64_t r = 0; !pairs && r < even->rows; r += side_by_side ? kSideBySide : 1) {
    if (!side_by_side) {
      const std::int64_t end = row(r) - HWY_NAMESPACE::prefetched_from(r % 2 != 0 ? *odd : *even) + row_bytes;
      for (std::int64_t at = row(r) / kLineBytes * kLineBytes; at < end; at += kLineBytes) on.prefetch(at);
    }
    for (std::int64_t i = 0; side_by_side && i <= last; i += kLineBytes)
      for (std::int64_t k = r; k < std::min(r + kSideBySide, even->rows); ++k) on.prefetch(row(k) + i);
  }
  on.t.ahead_is = std::string("rows of the next tile, ") + (odd != even ? "odd ones of the one behind it, " : "") +
                  (pairs          ? "two lines of each row in turn, "
                   : side_by_side ? "a line of each of eight rows in turn, "
                                  : "row by row, ") +
                  cache_of(a.near);
}

}  // namespace

void trace_kernel(const TileArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  on.set_pieces(tiles_of(a));
  std::uint8_t* const base = far_from_null();
  // Tasks before the piece's have as many tiles each as the walk says; they are walked, too.
  HWY_NAMESPACE::TileQueue queue(a, base, base, 0, a.tasks);
  for (std::int64_t n = 0; n < t.piece; ++n) queue.pop();
  if (queue.empty()) return;
  const HWY_NAMESPACE::TilePlace& tile = queue.front();
  const bool records = a.record.bytes != 0, staged = a.source == Source::kStaged || a.cast_run != nullptr;
  const int part = records ? a.record.unit_bytes : a.dst_unit, parts = a.dst_unit / part;
  if (records) t.src_unit = t.dst_unit = part;
  // Casts convert on the way into the stage; records lie there in their cells.
  const std::int64_t stage_unit = records ? a.src_unit : a.dst_unit;
  const std::int64_t row_bytes = (tile.cols - 1) * a.src_unit + (records ? a.dst_unit : a.src_unit);
  prefetch_rows(a, queue, base, on);
  if (!records) t.vector_bytes = store_vector_bytes();
  const std::int64_t src = on.src + (tile.src - base), dst = on.dst + (tile.dst - base);
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const auto number = static_cast<std::int32_t>(r);
    const std::int64_t row = src + tile.row_offsets[r];
    t.load(number, number, row, row_bytes);
    if (!staged) continue;
    t.accesses.push_back(
        {plan::Space::kStage, true, number, number, r * kStagePitch,
         static_cast<std::int32_t>((tile.cols - 1) * stage_unit + (records ? a.dst_unit : stage_unit))});
    for (std::int64_t c = 0; c < tile.cols; ++c)
      t.remember(r * kStagePitch + c * stage_unit, a.dst_unit, row + c * a.src_unit, number);
  }
  std::vector<std::int64_t> columns(static_cast<std::size_t>(tile.cols));
  fill_offsets(a.col_set, Side::kDst, tile.band_first_col + tile.first_col, tile.cols, columns.data());
  for (std::int64_t c = 0; c < tile.cols; ++c) {
    const std::int64_t to = dst + columns[static_cast<std::size_t>(c)] + tile.first_row * a.dst_unit;
    t.store(static_cast<std::int32_t>(c), static_cast<std::int32_t>(c), to, tile.rows * a.dst_unit);
    for (std::int64_t r = 0; r < tile.rows; ++r)
      for (int p = 0; p < parts; ++p) {
        const std::int64_t put = to + r * a.dst_unit + p * part;
        const std::int64_t in_record = (a.record.reversed ? parts - 1 - p : p) * part;
        const auto number = static_cast<std::int32_t>(c);
        t.units.push_back({src + tile.row_offsets[r] + c * a.src_unit + in_record, put,
                           staged ? r * kStagePitch + c * stage_unit + in_record : -1, static_cast<std::int32_t>(r),
                           number});
      }
  }
}

namespace {

/// A band of a matrix that is written past the caches: a piece. What is prefetched lies a matrix or more ahead.
void trace_streamed(const MatrixArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  const std::int64_t unit = a.dst_unit, column = a.rows * unit, pitch = streamed_column_pitch(column);
  const std::int64_t band_cols = streamed_band_cols(column, unit), bands = ceil_div(a.cols, band_cols);
  t.piece_is = "band";
  on.set_pieces(a.tasks * bands);
  const NestCursor at(a.nest, t.piece / bands);
  const std::int64_t first = t.piece % bands * band_cols, cols = std::min(band_cols, a.cols - first);
  const std::int64_t src = on.src + at.src() + first * unit, dst = on.dst + at.dst() + first * column;
  t.units_of_piece = cols * a.rows;
  t.vector_bytes = store_vector_bytes();
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto number = static_cast<std::int32_t>(r);
    t.load(number, number, src + r * a.row_src_stride, cols * unit);
    for (std::int64_t c = 0; c < cols; ++c)
      t.remember(c * pitch + r * unit, a.dst_unit, src + r * a.row_src_stride + c * unit, number);
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    const auto number = static_cast<std::int32_t>(c);
    t.accesses.push_back({plan::Space::kStage, true, number, number, c * pitch, static_cast<std::int32_t>(column)});
    t.take(number, number, c * pitch, column);
    t.store(number, number, dst + c * column, column);
    for (std::int64_t r = 0; r < a.rows && !t.full(); ++r)
      t.unit_staged(number, dst + c * column + r * unit, c * pitch + r * unit);
  }
}

}  // namespace

void trace_kernel(const MatrixArgs& a, const TraceBase& on) {
  if (a.stream) return trace_streamed(a, on);
  plan::Trace& t = on.t;
  t.piece_is = a.last_cols != 0 ? "band" : "matrix";
  on.set_pieces(a.tasks);
  const NestCursor at(a.nest, t.piece);
  const std::int64_t cols = a.last_cols != 0 && at.index(0) == a.nest[0].extent - 1 ? a.last_cols : a.cols;
  const std::int64_t src = on.src + at.src(), dst = on.dst + at.dst();
  const bool records = a.record.bytes != 0;
  const int part = records ? a.record.unit_bytes : a.dst_unit, parts = a.dst_unit / part;
  if (records) t.src_unit = t.dst_unit = part;
  const std::int64_t row_bytes = (cols - 1) * a.src_unit + a.dst_unit;
  for (std::int64_t r = 0; r < a.rows; ++r)
    t.load(static_cast<std::int32_t>(r), static_cast<std::int32_t>(r), src + r * a.row_src_stride, row_bytes);
  t.units_of_piece = cols * a.rows * parts;
  for (std::int64_t c = 0; c < cols; ++c) {
    t.store(static_cast<std::int32_t>(c), static_cast<std::int32_t>(c), dst + c * a.col_dst_stride,
            a.rows * a.dst_unit);
    for (std::int64_t r = 0; r < a.rows && !t.full(); ++r)
      for (int p = 0; p < parts; ++p)
        t.units.push_back({src + r * a.row_src_stride + c * a.src_unit + (a.record.reversed ? parts - 1 - p : p) * part,
                           dst + c * a.col_dst_stride + r * a.dst_unit + p * part, -1, static_cast<std::int32_t>(r),
                           static_cast<std::int32_t>(c)});
  }
}

}  // namespace restride::cpu
