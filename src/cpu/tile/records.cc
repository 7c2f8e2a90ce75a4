#include "src/cpu/tile/records.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tile/records.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/columns-inl.h"
#include "src/cpu/tile/merged_mover-inl.h"
#include "src/cpu/tile/record_mover-inl.h"
#include "src/cpu/tile/source-inl.h"
#include "src/cpu/tile/triples-inl.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// The rows of a block that starts at `from` in the stage.
inline auto staged_from(const std::uint8_t* from) {
  return [from](std::int64_t i) RESTRIDE_INLINE_LAMBDA { return from + i * kStagePitch; };
}

/// Any records, by way of a buffer of columns, each from the start of its line on, that are made whole before any of
/// them leaves: a line that is read right after the vectors it is made of were stored would wait for them. Outputs that
/// stay in cache leave as they are.
template <class Records>
class BufferedRecords final : public RecordMover {
 public:
  BufferedRecords(const TileArgs& a, const Columns& all) : RecordMover(a, all), records_(a.record) {
    static_assert(Records::kCols <= kMaxRecordBlockCols);
    const std::int64_t rows = ceil_div(std::min(a.tile_rows, a.rows), Records::kRows) * Records::kRows;
    const std::int64_t lines = ceil_div(rows * a.dst_unit + 2 * kLineBytes, kLineBytes);  // a start, a vector too much
    pitch_ = (lines | 1) * kLineBytes;
    group_cols = std::min(kMostBlocks, kBufferBytes / pitch_ / Records::kCols) * Records::kCols;
    block_rows = Records::kRows;
  }

  void move(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows, std::int64_t at,
            TilePrefetcher* prefetcher) override {
    const Records records = records_;  // bytes that are stored could be any object's: locals stay in registers
    const std::int64_t record = a_.dst_unit;
    std::uint8_t* room[kMostBlocks * Records::kCols];
    const std::int64_t open = ceil_div(cols, Records::kCols) * Records::kCols;
    for (std::int64_t j = 0; j < open; ++j) {
      const std::size_t fill = j < cols ? all_.fill[t.first_col + c + j] : 0;
      room[j] = buffer_ + j * pitch_ + fill;
      if (fill != 0 && !t.first_rows) std::memcpy(buffer_ + j * pitch_, carry_[t.first_col + c + j], kLine);
    }
    for (std::int64_t j = 0; j < open; j += Records::kCols, at += Records::kCols * a_.src_unit)
      for (std::int64_t r = 0; r < t.rows; r += Records::kRows) {
        prefetcher->advance(Records::kRows * Records::kCols);
        records.move(staged_from(rows[r] + at),
                     [&](std::size_t k) RESTRIDE_INLINE_LAMBDA { return room[j + k] + r * record; });
      }
    for (std::int64_t j = 0; j < cols; ++j) {
      const std::int64_t col = t.first_col + c + j;
      leave(t, column(t, c + j), buffer_ + j * pitch_, all_.fill[col], carry_[col]);
    }
  }

 private:
  static constexpr auto kLineBytes = static_cast<std::int64_t>(kLine);
  /// Few, so that making columns and writing them take turns.
  static constexpr std::int64_t kMostBlocks = 3;
  /// At least a block of the longest columns.
  static constexpr std::int64_t kBufferBytes = 20 << 10;
  static_assert(kBufferBytes >= Records::kCols * (kMaxRecordColumnBytes + 6 * kLineBytes));

  Records records_;
  std::int64_t pitch_;  ///< from column to column: an odd number of lines, so that they spread over the cache's sets
  alignas(64) std::uint8_t buffer_[kBufferBytes];
  alignas(64) std::uint8_t carry_[kMaxBandCols][kLine];
};

/// Records that are lines of dst: each leaves as it is read, without a stage or a buffer.
class LineRecords final : public RecordMover {
 public:
  static bool takes(const TileArgs& a, const std::uint8_t* dst) {
    return a.source == Source::kInPlace && a.stream && dst_divides(dst, a.nest, kLine) &&
           dst_divides(dst, a.col_set, kLine);
  }
  LineRecords(const TileArgs& a, const Columns& all) : RecordMover(a, all) {
    group_cols = 1;
    block_rows = 1;
    read_bytes = static_cast<std::int64_t>(kLine);
    in_place = true;
  }
  void move(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows, std::int64_t at,
            TilePrefetcher* prefetcher) override {
    prefetcher->advance(cols * t.rows);
    for (std::int64_t j = 0; j < cols; ++j, at += a_.src_unit) {
      std::uint8_t* to = column(t, c + j);
      for (std::int64_t r = 0; r < t.rows; ++r, to += kLine) stream_line(to, rows[r] + at);
    }
  }
};

#if HWY_TARGET <= HWY_AVX3
/// Records of three parts, at any alignment that is whole lanes, without a buffer; Others moves the ends that are no
/// whole block. Of each column the last line's vector waits for the next tile.
template <std::size_t kPart, class Others>
class TripleMover final : public RecordMover {
  using T = Triples<kPart>;
  using D = typename T::D;
  using V = typename T::V;
  using Lane = typename T::Lane;
  static constexpr std::size_t kCols = T::kCols;

 public:
  static bool takes(const TileArgs& a, const std::uint8_t* dst) {
    return !a.stream || (dst_divides(dst, a.nest, sizeof(Lane)) && dst_divides(dst, a.col_set, sizeof(Lane)));
  }

  TripleMover(const TileArgs& a, const Columns& all) : RecordMover(a, all), triples_(a.record), others_(a.record) {
    group_cols = static_cast<std::int64_t>(kCols);
    block_rows = static_cast<std::int64_t>(T::kRows);
    read_bytes = triples_.read_bytes();
    in_place = true;
  }

  void move(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows, std::int64_t at,
            TilePrefetcher* prefetcher) override {
    prefetcher->advance(cols * t.rows);
    if (cols < group_cols || t.rows % block_rows != 0) return move_part(t, c, cols, rows, at);
    std::uint8_t* to[kCols];
    V join[kCols];
    V above[kCols];
    const D d;
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kCols; ++j) {
      const std::int64_t col = t.first_col + c + static_cast<std::int64_t>(j);
      to[j] = column(t, c + static_cast<std::int64_t>(j));
      join[j] = hn::Iota(d, static_cast<Lane>(hn::MaxLanes(d) - all_.fill[col] / sizeof(Lane)));
      above[j] = load(d, waiting_[col]);
    }
    const bool past_caches = a_.stream;
    bool top = t.first_rows;
    for (std::int64_t r = 0; r < t.rows; r += block_rows, rows += block_rows) {
      const auto row = [&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + at; };
      triples_.lines(row, [&](std::size_t j, std::size_t p, V line) RESTRIDE_INLINE_LAMBDA {
        const V joined = permute_two(above[j], join[j], line);
        if (HWY_UNLIKELY(p == 0 && top))
          store_bytes(joined, to[j], all_.fill[t.first_col + c + static_cast<std::int64_t>(j)], kLine);
        else if (past_caches)
          stream(joined, d, to[j]);
        else
          store(joined, d, to[j]);
        above[j] = line;
        to[j] += kLine;
      });
      top = false;
    }
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kCols; ++j) {
      const std::int64_t col = t.first_col + c + static_cast<std::int64_t>(j);
      if (t.last_rows)
        store_bytes(permute_two(above[j], join[j], above[j]), to[j], 0, all_.fill[col]);
      else
        store(above[j], d, waiting_[col]);
    }
  }

 private:
  HWY_NOINLINE void move_part(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows,
                              std::int64_t at) {
    constexpr auto kPitch = static_cast<std::int64_t>(sizeof(buffer_[0]));
    static_assert(kCols % Others::kCols == 0);
    const Others others = others_;
    const std::int64_t record = a_.dst_unit;
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j)
      std::memcpy(buffer_[j], waiting_[t.first_col + c + static_cast<std::int64_t>(j)], kLine);
    std::uint8_t* room = buffer_[0] + kLine;
    for (std::int64_t j = 0; j < cols;
         j += Others::kCols, at += Others::kCols * a_.src_unit, room += Others::kCols * kPitch)
      for (std::int64_t r = 0; r < t.rows; r += Others::kRows)
        others.move(staged_from(rows[r] + at), [&](std::size_t k) RESTRIDE_INLINE_LAMBDA {
          return room + static_cast<std::int64_t>(k) * kPitch + r * record;
        });
    for (std::int64_t j = 0; j < cols; ++j) {
      const std::int64_t col = t.first_col + c + j;
      const std::size_t fill = all_.fill[col];
      leave(t, column(t, c + j), buffer_[j] + kLine - fill, fill, waiting_[col]);
      if (t.last_rows) continue;
      std::memcpy(waiting_[col], buffer_[j] + t.rows * a_.dst_unit, kLine);
    }
  }
  /// Bytes [from, to) of a line, by an ordinary store.
  static HWY_INLINE void store_bytes(V line, std::uint8_t* at, std::size_t from, std::size_t to) {
    if (from == to) return;
    const __mmask64 mask = (~std::uint64_t{0} >> (kLine - to)) & (~std::uint64_t{0} << from);
    _mm512_mask_storeu_epi8(at, mask, line.raw);
  }

  T triples_;
  Others others_;
  alignas(64) std::uint8_t waiting_[kMaxBandCols + kCols][kLine];
  alignas(64) std::uint8_t buffer_[kCols][kMaxRecordColumnBytes + 6 * kLine];
};
#endif

/// Where the rows of a tile are read: in place, as the plan says, or from a stage, as where more is read than a row
/// has.
class RecordRows {
 public:
  RecordRows(const TileArgs& a, const RecordMover& mover)
      : a_(a), mover_(mover), in_place_(mover.in_place && a.source == Source::kInPlace) {
    for (std::int64_t r = 0; r < kMaxTileRows; ++r) staged_[r] = stage_ + r * kStagePitch;
  }
  void open(const TilePlace& t) {
    t_ = &t;
    for (std::int64_t r = 0; r < t.rows; ++r) rows_[r] = t.src + t.row_offsets[r];
    staged_whole_ = !in_place_ || t.rows % mover_.block_rows != 0;
    if (staged_whole_) stage(0, t.cols);
  }
  /// Row by row, where column 0 of the tile would be; `cols` of its columns from c on are there.
  const std::uint8_t* const* at(std::int64_t c, std::int64_t cols) {
    if (staged_whole_) return staged_;
    if (cols == mover_.group_cols && mover_.read_bytes <= run_bytes(a_.cols - t_->band_first_col - t_->first_col - c))
      return rows_;
    stage(c, cols);
    return staged_;
  }

 private:
  std::int64_t run_bytes(std::int64_t cols) const { return (cols - 1) * a_.src_unit + a_.dst_unit; }
  void stage(std::int64_t c, std::int64_t cols) {
    const std::int64_t at = c * a_.src_unit;
    const auto bytes = static_cast<std::size_t>(run_bytes(cols));
    for (std::int64_t r = 0; r < t_->rows; ++r) copy_bytes(stage_ + r * kStagePitch + at, rows_[r] + at, bytes);
  }

  const TileArgs& a_;
  const RecordMover& mover_;
  const TilePlace* t_ = nullptr;
  bool in_place_;
  bool staged_whole_ = false;
  const std::uint8_t* rows_[kMaxTileRows];
  const std::uint8_t* staged_[kMaxTileRows];
  alignas(64) std::uint8_t stage_[kMaxTileRows * kStagePitch];
};

/// Compiled once for all movers.
HWY_NOINLINE void move_tiles(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                             std::int64_t end, RecordMover* mover, Columns* columns) {
  TileQueue queue(a, dst, src, begin, end);
  if (queue.empty()) return;
  RecordRows rows(a, *mover);
  for (; !queue.empty(); queue.pop()) {
    const TilePlace& t = queue.front();
    if (t.opens_band) columns->open(a, t, a.stream);
    rows.open(t);
    TilePrefetcher prefetcher(a, queue, t.cols * t.rows);
    for (std::int64_t c = 0; c < t.cols; c += mover->group_cols) {
      const std::int64_t cols = std::min(mover->group_cols, t.cols - c);
      const std::uint8_t* const* from = rows.at(c, cols);
      mover->move(t, c, cols, from, c * a.src_unit, &prefetcher);
    }
  }
  if (a.stream) hwy::FlushStream();
}

template <class Mover>
void tile_records(const TileArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                  std::int64_t end) noexcept {
  Columns columns;
  Mover mover(a, columns);
  move_tiles(a, reinterpret_cast<std::uint8_t*>(dst), reinterpret_cast<const std::uint8_t*>(src), begin, end, &mover,
             &columns);
}

template <class Records>
inline constexpr KernelCode<TileArgs> kBuffered = tile_records<BufferedRecords<Records>>;

void tile_lines(const TileArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                std::int64_t end) noexcept {
  const bool takes = LineRecords::takes(a, reinterpret_cast<const std::uint8_t*>(dst));
  (takes ? tile_records<LineRecords> : kBuffered<LongRecords<4>>)(a, dst, src, begin, end);
}

#if HWY_TARGET <= HWY_AVX3
template <std::size_t kPart, class Others>
void tile_triples(const TileArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                  std::int64_t end) noexcept {
  using Mover = TripleMover<kPart, Others>;
  const bool takes = Mover::takes(a, reinterpret_cast<const std::uint8_t*>(dst));
  (takes ? tile_records<Mover> : kBuffered<Others>)(a, dst, src, begin, end);
}
#endif

#if HWY_TARGET <= HWY_AVX3_DL
KernelCode<TileArgs> pick_merged(const MergedShape& s) {
  switch (s.levels) {
    case 1: return s.last == 2 ? tile_records<MergedMover<1, 2, 2>> : tile_records<MergedMover<1, 2, 3>>;
    case 2: return s.last == 2 ? tile_records<MergedMover<2, 2, 2>> : tile_records<MergedMover<2, 2, 3>>;
    default: return s.last == 2 ? tile_records<MergedMover<3, 1, 2>> : tile_records<MergedMover<3, 1, 3>>;
  }
}
#endif

}  // namespace

KernelCode<TileArgs> pick_records(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed, RecordWay way) {
  [[maybe_unused]] const bool triples = way == RecordWay::kTriples;
#if HWY_TARGET <= HWY_AVX3_DL
  if (way == RecordWay::kMerged && can_merge(record_bytes, cell_bytes)) return pick_merged(merged_shape(record_bytes));
#endif
#if HWY_TARGET <= HWY_AVX3_DL
  if (triples && record_bytes == 3 && cell_bytes <= 4) return tile_triples<1, UnitRecords<4>>;
#endif
#if HWY_TARGET <= HWY_AVX3
  if (triples && record_bytes == 6 && cell_bytes <= 8) return tile_triples<2, UnitRecords<8>>;
  if (triples && record_bytes == 12) return tile_triples<4, UnitRecords<16>>;
  if (triples && record_bytes == 24) return tile_triples<8, LongRecords<2>>;
  if (triples && record_bytes == 48) return tile_triples<16, LongRecords<4>>;
#endif
#if HWY_TARGET != HWY_SCALAR
  if (record_bytes <= 4 && cell_bytes <= 4) return kBuffered<UnitRecords<4>>;
  if (record_bytes <= 8 && cell_bytes <= 8) return kBuffered<UnitRecords<8>>;
  if (reversed) return kBuffered<UnitRecords<16>>;
#else
  (void)cell_bytes;
#endif
  if (reversed) return kBuffered<ReversedRecords>;  // there are no vectors
  if (record_bytes == static_cast<std::int64_t>(kLine)) return tile_lines;
  if (record_bytes <= 16) return kBuffered<LongRecords<1>>;
  if (record_bytes <= 32) return kBuffered<LongRecords<2>>;
  return kBuffered<LongRecords<4>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_records);
KernelCode<TileArgs> record_kernel(std::int64_t record_bytes, std::int64_t cell_bytes, bool reversed,
                                   RecordWay way) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_records)(record_bytes, cell_bytes, reversed, way);
}
}  // namespace restride::cpu
#endif
