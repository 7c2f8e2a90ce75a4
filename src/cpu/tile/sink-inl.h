// Where a tile's columns go: one sink for outputs that stay in cache, one for columns that start on lines, and one
// that carries the ragged end of a tile over to the next, so that every line is still written whole and once; where the
// instruction set has two-register permutes, carry_sink-inl.h has a faster one. Included once per instruction set.
//
// A task fills its Columns. Protocol, for each block of up to kCols columns: open gives a pen; then for each vector of
// rows put or put_part for every column, advance; then close. put_part takes the ragged end of the rows, or columns of
// a narrow block. A pen is a value: its members stay in registers, while members of the sink, which is in memory,
// would be read again after every store of bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_SINK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_SINK_INL_H_
#undef RESTRIDE_CPU_TILE_SINK_INL_H_
#else
#define RESTRIDE_CPU_TILE_SINK_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/columns-inl.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/late_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Ordinary stores, wherever the columns lie.
template <class Blocks>
class CacheSink {
 public:
  using B = Blocks;
  static constexpr bool kByLine = false;

  struct Pen {
    OpenColumns<B::kUnitBytes> columns;
    HWY_INLINE void advance() { columns.advance(); }
    HWY_INLINE void put(std::size_t j, typename B::V v) const { store(v, typename B::D(), columns.to(j)); }
    HWY_INLINE void put_part(std::size_t j, typename B::V v, std::int64_t bytes) const {
      store_part(v, typename B::D(), columns.to(j), 0, static_cast<std::size_t>(bytes));
    }
  };

  CacheSink(const TileArgs&, const Columns& all) : all_(all) {}
  template <class Place>
  HWY_INLINE Pen open(const Place& t, std::int64_t c) {
    return {OpenColumns<B::kUnitBytes>(all_, t, c)};
  }
  HWY_INLINE void close(const Pen&, std::int64_t, std::int64_t, bool) {}
  HWY_INLINE void finish() {}

 private:
  const Columns& all_;
};

/// Stores past the caches; every column of every tile starts on a line (see starts_on_lines). The line of a late column
/// waits in a buffer that stays in the caches.
template <class Blocks>
class LineSink {
  static constexpr std::size_t kUnit = Blocks::kUnitBytes;

 public:
  using B = Blocks;
  using D = typename B::D;
  using V = typename B::V;
  static constexpr bool kByLine = false;
  /// Two vectors of a column leave in turn: lines, which memory takes better so where columns lie an even number of
  /// lines apart, or the halves of one, which waits for its other half in one of the core's few buffers.
  static constexpr bool kTwoLines = B::kVectorBytes >= kLine / 2;

  struct Pen {
    HWY_INLINE bool late(std::size_t j) const { return is_late<kUnit>(j, odd_late); }
    HWY_INLINE void put_two(std::size_t j, V v, V below) const {
      stream(v, D(), columns.to(j));
      stream(below, D(), columns.to(j) + B::kVectorBytes);
    }
    HWY_INLINE void put(std::size_t j, V v) const {
      if (!late(j)) return stream(v, D(), columns.to(j));
      if (HWY_LIKELY(!columns.at_top())) leave(j);
      store(v, D(), slot(j));
    }
    HWY_INLINE void put_part(std::size_t j, V v, std::int64_t bytes) const {
      if (bytes == static_cast<std::int64_t>(B::kVectorBytes)) return put(j, v);
      if (late(j) && !columns.at_top()) leave(j);
      store_part(v, D(), columns.to(j), 0, static_cast<std::size_t>(bytes));
    }
    /// The line above the next of late column j leaves.
    HWY_INLINE void leave(std::size_t j) const { stream(load(D(), slot(j)), D(), columns.to(j) - kLine); }
    HWY_INLINE std::uint8_t* slot(std::size_t j) const { return waiting + j / 2 * kLine; }
    HWY_INLINE void advance() { columns.advance(); }

    OpenColumns<kUnit> columns;
    std::uint8_t* waiting;
    bool odd_late;
    bool whole;  ///< the tile ends with a line
  };

  LineSink(const TileArgs& a, const Columns& all) : all_(all), odd_late_(a.late) {}
  bool two_lines() const { return !kLateLines<kUnit> || !odd_late_; }  ///< leave in turn
  template <class Place>
  HWY_INLINE Pen open(const Place& t, std::int64_t c) {
    return {OpenColumns<kUnit>(all_, t, c), waiting_ + c / 2 * static_cast<std::int64_t>(kLine), odd_late_,
            t.rows % static_cast<std::int64_t>(B::kRows) == 0};
  }
  HWY_INLINE void close(const Pen& pen, std::int64_t, std::int64_t cols, bool last) {
    if (!last || !pen.whole) return;
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j)
      if (pen.late(j)) pen.leave(j);
  }
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  const Columns& all_;
  bool odd_late_;
  alignas(64) std::uint8_t waiting_[kLateLines<kUnit> ? (kMaxBandCols + B::kCols) / 2 * kLine : kLine];
};

/// Any alignment, on any instruction set: the open columns collect in a buffer that starts on their line; whole lines
/// leave it past the caches, the rest waits in one line a column for the next tile.
template <class Blocks>
class BufferSink {
  static constexpr std::size_t kUnit = Blocks::kUnitBytes;
  using Buffer = std::uint8_t[kMaxColumnBytes + 2 * kLine];

 public:
  using B = Blocks;
  static constexpr bool kByLine = true;

  struct Pen {
    OpenColumns<kUnit> columns;  ///< stays at the tile's first row
    Buffer* buffer;
    std::size_t tile_bytes;
    std::size_t row_bytes;
    HWY_INLINE void advance() { row_bytes += B::kVectorBytes; }
    HWY_INLINE void put(std::size_t j, typename B::V v) const {
      store(v, typename B::D(), buffer[j] + columns.fill(j) + row_bytes);
    }
    HWY_INLINE void put_part(std::size_t j, typename B::V v, std::int64_t) const { put(j, v); }  // there is room
  };

  BufferSink(const TileArgs&, const Columns& all) : all_(all) {}
  template <class Place>
  HWY_INLINE Pen open(const Place& t, std::int64_t c) {
    for (std::size_t j = 0; j < B::kCols; ++j)
      std::memcpy(buffer_[j], carry_ + (static_cast<std::size_t>(c) + j) * kLine, kLine);
    return {OpenColumns<kUnit>(all_, t, c), buffer_, static_cast<std::size_t>(t.rows) * kUnit, 0};
  }
  HWY_INLINE void close(const Pen& pen, std::int64_t c, std::int64_t cols, bool last) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j)
      flush(pen, j, carry_ + (static_cast<std::size_t>(c) + j) * kLine, last);
  }
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  HWY_INLINE void flush(const Pen& pen, std::size_t j, std::uint8_t* carry, bool last) {
    const std::size_t fill = pen.columns.fill(j);
    std::uint8_t* line = pen.columns.to(j);
    const std::uint8_t* from = buffer_[j];
    const std::size_t total = fill + pen.tile_bytes;
    std::size_t i = 0;
    if (pen.columns.at_top() && fill != 0) {
      std::memcpy(line + fill, from + fill, std::min(total, kLine) - fill);
      i = kLine;
    }
    for (; i + kLine <= total; i += kLine) stream_line(line + i, from + i);
    if (last && i < total) std::memcpy(line + i, from + i, total - i);
    if (!last) std::memcpy(carry, from + total / kLine * kLine, kLine);
  }

  const Columns& all_;
  alignas(64) Buffer buffer_[B::kCols];
  alignas(64) std::uint8_t carry_[(kMaxBandCols + B::kCols) * kLine];
};

/// True when every column starts on a line, and so does every tile of it: tiles are whole lines high.
inline bool starts_on_lines(const TileArgs& a, const std::uint8_t* dst) {
  return dst_divides(dst, a.nest, kLine) && dst_divides(dst, a.col_set, kLine);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
