#include "src/kernels/cpu/tile_records.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/tile_records.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/columns-inl.h"
#include "src/kernels/cpu/records-inl.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/tile_walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// The columns of the open block, collected each from the start of its line on. Whole lines leave past the caches, the
/// ragged end waits for the next tile; outputs that stay in cache leave as they are.
template <std::int64_t kCols>
class RecordSink {
 public:
  RecordSink(const CpuArgs& a, const Columns& all) : stream_(a.stream), record_(a.dst_unit), all_(all) {}

  void open(const TilePlace& t, std::int64_t c, std::int64_t cols) {
    first_col_ = c;
    cols_ = cols;
    first_ = t.first_rows;
    last_ = t.last_rows;
    at_bytes_ = (t.first_row - all_.first_row) * record_;
    tile_bytes_ = static_cast<std::size_t>(t.rows * record_);
    for (std::int64_t j = 0; j < kCols; ++j) {
      fill_[j] = j < cols ? all_.fill[c + j] : 0;
      if (stream_ && !first_ && j < cols) std::memcpy(buffer_[j], carry_[c + j], kLine);
    }
  }
  /// Where the tile's first record of column j goes.
  HWY_INLINE std::uint8_t* room(std::size_t j) { return buffer_[j] + fill_[j]; }
  void close() {
    for (std::int64_t j = 0; j < cols_; ++j)
      if (stream_)
        leave(j);
      else
        copy_bytes(to(j), buffer_[j], tile_bytes_);
  }

 private:
  std::uint8_t* to(std::int64_t j) const { return all_.at[first_col_ + j] + at_bytes_; }
  void leave(std::int64_t j) {
    const std::size_t fill = fill_[j];
    const std::size_t total = fill + tile_bytes_;
    const std::uint8_t* from = buffer_[j];
    std::uint8_t* line = to(j);
    std::size_t i = 0;
    if (first_ && fill != 0) {
      std::memcpy(line + fill, from + fill, std::min(total, kLine) - fill);
      i = kLine;
    }
    for (; i + kLine <= total; i += kLine) stream_line(line + i, from + i);
    if (last_ && i < total) std::memcpy(line + i, from + i, total - i);
    if (!last_) std::memcpy(carry_[first_col_ + j], from + total / kLine * kLine, kLine);
  }

  bool stream_;
  std::int64_t record_;
  const Columns& all_;
  std::int64_t first_col_ = 0;
  std::int64_t cols_ = 0;
  bool first_ = false;
  bool last_ = false;
  std::int64_t at_bytes_ = 0;
  std::size_t tile_bytes_ = 0;
  std::size_t fill_[kCols] = {};
  alignas(64) std::uint8_t buffer_[kCols][kMaxRecordColumnBytes + 8 * kLine];
  alignas(64) std::uint8_t carry_[kMaxBandCols][kLine];
};

template <class Records>
void tile_records(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
                  std::int64_t end) noexcept {
  static_assert(Records::kCols <= kMaxRecordBlockCols);
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  const Records records(a);
  alignas(64) std::uint8_t stage[kMaxTileRows * kStagePitch];
  Columns columns;
  RecordSink<Records::kCols> sink(a, columns);
  TilePlace places[2];
  TileWalk walk(a, dst, src, begin, end);
  int now = 0;
  for (bool more = walk.next(&places[0]); more; now ^= 1) {
    const TilePlace& t = places[now];
    TilePlace& ahead = places[now ^ 1];
    more = walk.next(&ahead);
    if (t.opens_band) columns.open(a, t, a.stream);
    const auto row_bytes = static_cast<std::size_t>((t.cols - 1) * a.src_unit + a.dst_unit);
    for (std::int64_t r = 0; r < t.rows; ++r) copy_bytes(stage + r * kStagePitch, t.src + t.row_offsets[r], row_bytes);
    const std::int64_t blocks = ceil_div(t.cols, Records::kCols) * ceil_div(t.rows, Records::kRows);
    TileAsker asker(a, ahead, more, blocks);
    for (std::int64_t c = 0; c < t.cols; c += Records::kCols) {
      sink.open(t, t.first_col + c, std::min(Records::kCols, t.cols - c));
      for (std::int64_t r = 0; r < t.rows; r += Records::kRows) {
        asker.advance(1);
        records.move(stage + r * kStagePitch + c * a.src_unit, kStagePitch,
                     [&](std::size_t j) RESTRIDE_INLINE_LAMBDA { return sink.room(j) + r * a.dst_unit; });
      }
      sink.close();
    }
  }
  if (a.stream) hwy::FlushStream();
}

}  // namespace

CpuKernel pick_records(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed) {
#if HWY_TARGET != HWY_SCALAR
  if (record_bytes <= 4 && cell_bytes <= 4) return tile_records<UnitRecords<4>>;
  if (record_bytes <= 8 && cell_bytes <= 8) return tile_records<UnitRecords<8>>;
  if (reversed) return tile_records<UnitRecords<16>>;
#else
  (void)cell_bytes;
#endif
  if (reversed) return tile_records<TurnedRecords>;  // there are no vectors
  if (record_bytes <= 16) return tile_records<LongRecords<1>>;
  if (record_bytes <= 32) return tile_records<LongRecords<2>>;
  return tile_records<LongRecords<4>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_records);
CpuKernel record_kernel(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_records)(record_bytes, cell_bytes, reversed);
}
}  // namespace restride::kernels::cpu
#endif
