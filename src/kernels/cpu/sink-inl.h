// Where a tile's columns go: one sink for outputs that stay in cache, one for columns that start on lines, and two
// that carry the ragged end of a tile over to the next, so that every line is still written whole and once.
// Included once per instruction set.
//
// A task fills its Columns. Protocol, for each block of up to kCols columns: open; then for each vector of rows put or
// put_part for every column, advance; then close. put_part takes the ragged end of the rows, or columns of a narrow
// block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_SINK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_SINK_INL_H_
#undef RESTRIDE_KERNELS_CPU_SINK_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_SINK_INL_H_
#endif

#include "src/kernels/cpu/args.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/tile.h"
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where the columns of a band are written, for all tiles of a task.
struct Columns {
  std::uint8_t* at[kMaxBandCols];   ///< the first row of the task; for sinks that write lines, the line it lies in
  std::uint8_t fill[kMaxBandCols];  ///< bytes of that line in front of it; constant down the column, since tiles are
                                    ///< whole lines high
  std::int64_t first_row = 0;       ///< of the task

  template <class Place>
  void open(const CpuArgs& a, const Place& t, bool by_line) {
    std::int64_t offsets[kMaxBandCols];
    fill_offsets(a.col_set, Side::kDst, t.band_first_col, t.band_cols, offsets);
    first_row = t.first_row;
    std::uint8_t* base = t.dst + first_row * a.dst_unit;
    for (std::int64_t c = 0; c < t.band_cols; ++c) {
      std::uint8_t* to = base + offsets[c];
      fill[c] = by_line ? reinterpret_cast<std::uintptr_t>(to) % kLine : 0;
      at[c] = to - fill[c];
    }
  }
};

/// The columns of the open block.
template <std::size_t kUnit>
class OpenColumns {
 public:
  explicit OpenColumns(const Columns& all) : all_(all) {}
  template <class Place>
  HWY_INLINE void open(const Place& t, std::int64_t c) {
    at_ = all_.at + c;
    fill_ = all_.fill + c;
    row_bytes_ = (t.first_row - all_.first_row) * static_cast<std::int64_t>(kUnit);
  }
  HWY_INLINE std::uint8_t* to(std::size_t j) const { return at_[j] + row_bytes_; }
  HWY_INLINE std::size_t fill(std::size_t j) const { return fill_[j]; }
  HWY_INLINE void advance() { row_bytes_ += static_cast<std::int64_t>(Block<kUnit>::kVectorBytes); }

 private:
  const Columns& all_;
  std::uint8_t* const* at_ = nullptr;
  const std::uint8_t* fill_ = nullptr;
  std::int64_t row_bytes_ = 0;
};

template <class V, class D>
HWY_INLINE void store_part(V v, D d, std::uint8_t* to, std::size_t from, std::size_t bytes) {
  alignas(64) std::uint8_t lane[64];
  store(v, d, lane);
  std::memcpy(to, lane + from, bytes);
}

/// Ordinary stores, wherever the columns lie.
template <std::size_t kUnit>
class DirectSink {
 public:
  using B = Block<kUnit>;
  static constexpr bool kByLine = false;
  explicit DirectSink(const Columns& all) : columns_(all) {}
  template <class Place>
  HWY_INLINE void open(const Place& t, std::int64_t c) {
    columns_.open(t, c);
  }
  HWY_INLINE void put(std::size_t j, typename B::V v) { store(v, typename B::D(), columns_.to(j)); }
  HWY_INLINE void put_part(std::size_t j, typename B::V v, std::int64_t bytes) {
    store_part(v, typename B::D(), columns_.to(j), 0, static_cast<std::size_t>(bytes));
  }
  HWY_INLINE void advance() { columns_.advance(); }
  HWY_INLINE void close(std::int64_t, std::int64_t, bool) {}
  HWY_INLINE void finish() {}

 private:
  OpenColumns<kUnit> columns_;
};

/// Stores past the caches; every column of every tile starts on a line (see lines_align).
template <std::size_t kUnit>
class LineSink {
 public:
  using B = Block<kUnit>;
  static constexpr bool kByLine = false;
  explicit LineSink(const Columns& all) : columns_(all) {}
  template <class Place>
  HWY_INLINE void open(const Place& t, std::int64_t c) {
    columns_.open(t, c);
  }
  HWY_INLINE void put(std::size_t j, typename B::V v) { stream(v, typename B::D(), columns_.to(j)); }
  HWY_INLINE void put_part(std::size_t j, typename B::V v, std::int64_t bytes) {
    if (bytes == static_cast<std::int64_t>(B::kVectorBytes))
      put(j, v);
    else
      store_part(v, typename B::D(), columns_.to(j), 0, static_cast<std::size_t>(bytes));
  }
  HWY_INLINE void advance() { columns_.advance(); }
  HWY_INLINE void close(std::int64_t, std::int64_t, bool) {}
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  OpenColumns<kUnit> columns_;
};

/// Any alignment, on any instruction set: the open columns collect in a buffer that starts on their line; whole lines
/// leave it past the caches, the rest waits in one line a column for the next tile.
template <std::size_t kUnit>
class BufferSink {
 public:
  using B = Block<kUnit>;
  static constexpr bool kByLine = true;
  explicit BufferSink(const Columns& all) : columns_(all) {}
  template <class Place>
  HWY_INLINE void open(const Place& t, std::int64_t c) {
    columns_.open(t, c);
    first_ = t.first_rows;
    tile_bytes_ = static_cast<std::size_t>(t.rows) * kUnit;
    for (std::size_t j = 0; j < B::kCols; ++j)
      std::memcpy(buffer_[j], carry_ + (static_cast<std::size_t>(c) + j) * kLine, kLine);
    row_bytes_ = 0;
  }
  HWY_INLINE void put(std::size_t j, typename B::V v) {
    store(v, typename B::D(), buffer_[j] + columns_.fill(j) + row_bytes_);
  }
  HWY_INLINE void put_part(std::size_t j, typename B::V v, std::int64_t) { put(j, v); }  // the buffer has room
  HWY_INLINE void advance() { row_bytes_ += B::kVectorBytes; }
  HWY_INLINE void close(std::int64_t c, std::int64_t cols, bool last) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j)
      flush(j, carry_ + (static_cast<std::size_t>(c) + j) * kLine, last);
  }
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  HWY_INLINE void flush(std::size_t j, std::uint8_t* carry, bool last) {
    const std::size_t fill = columns_.fill(j);
    std::uint8_t* line = columns_.to(j);
    const std::uint8_t* from = buffer_[j];
    const std::size_t total = fill + tile_bytes_;
    std::size_t i = 0;
    if (first_ && fill != 0) {
      std::memcpy(line + fill, from + fill, std::min(total, kLine) - fill);
      i = kLine;
    }
    for (; i + kLine <= total; i += kLine) stream_line(line + i, from + i);
    if (last && i < total) std::memcpy(line + i, from + i, total - i);
    if (!last) std::memcpy(carry, from + total / kLine * kLine, kLine);
  }

  OpenColumns<kUnit> columns_;
  std::size_t tile_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  bool first_ = false;
  alignas(64) std::uint8_t buffer_[B::kCols][kMaxColumnBytes + 2 * kLine];
  alignas(64) std::uint8_t carry_[(kMaxBandCols + B::kCols) * kLine];
};

#if HWY_TARGET <= HWY_AVX3
/// Row f: the lanes that leave the last f of one vector in front of the first of the next.
template <class Lane>
struct JoinTable {
  static constexpr std::size_t kLanes = kLine / sizeof(Lane);
  alignas(kLine) Lane index[kLanes][kLanes] = {};
  constexpr JoinTable() {
    for (std::size_t f = 0; f < kLanes; ++f)
      for (std::size_t i = 0; i < kLanes; ++i) index[f][i] = static_cast<Lane>(kLanes - f + i);
  }
};

/// Any alignment that is whole units, in registers: a line is the end of one vector and the start of the next, put
/// together by a two-register permute; the last vector of a column waits for the next tile. It lives in memory even
/// between the vectors of a tile, because a block's columns and what they wait for do not fit into the registers.
template <std::size_t kUnit>
class CarrySink {
 public:
  using B = Block<kUnit>;
  using D = typename B::D;
  using V = typename B::V;
  using Lane = typename B::Lane;
  static constexpr bool kByLine = true;
  static_assert(B::kVectorBytes == kLine);

  explicit CarrySink(const Columns& all) : columns_(all) {}
  template <class Place>
  HWY_INLINE void open(const Place& t, std::int64_t c) {
    columns_.open(t, c);
    carry_ = carries_ + static_cast<std::size_t>(c) * kLine;
    fresh_ = t.first_rows;
    ended_ = false;
  }
  HWY_INLINE void put(std::size_t j, V v) {
    const V line = join(previous(j), v, columns_.fill(j));
    if (HWY_UNLIKELY(fresh_))
      store_bytes(line, columns_.to(j), columns_.fill(j), kLine);
    else
      stream(line, D(), columns_.to(j));
    store(v, D(), carry_ + j * kLine);
  }
  HWY_INLINE void put_part(std::size_t j, V v, std::int64_t bytes) {
    if (bytes == static_cast<std::int64_t>(kLine)) return put(j, v);
    ended_ = true;
    const std::size_t fill = columns_.fill(j);
    const std::size_t total = fill + static_cast<std::size_t>(bytes);
    store_bytes(join(previous(j), v, fill), columns_.to(j), fresh_ ? fill : 0, std::min(total, kLine));
    if (total > kLine) store_bytes(join(v, v, fill), columns_.to(j) + kLine, 0, total - kLine);
  }
  HWY_INLINE void advance() {
    columns_.advance();
    fresh_ = false;
  }
  HWY_INLINE void close(std::int64_t, std::int64_t cols, bool last) {
    if (!last || ended_) return;
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j)
      if (columns_.fill(j) != 0)
        store_bytes(join(previous(j), previous(j), columns_.fill(j)), columns_.to(j), 0, columns_.fill(j));
  }
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  HWY_INLINE V previous(std::size_t j) const {
    return hn::Load(D(), reinterpret_cast<const Lane*>(carry_ + j * kLine));
  }

  /// Bytes [from, to) of a line, by an ordinary store.
  static HWY_INLINE void store_bytes(V line, std::uint8_t* at, std::size_t from, std::size_t to) {
    const __mmask64 mask = (~std::uint64_t{0} >> (kLine - to)) & (~std::uint64_t{0} << from);
    _mm512_mask_storeu_epi8(at, mask, line.raw);
  }

  /// The last `fill` bytes of a, then the first of b.
  static HWY_INLINE V join(V a, V b, std::size_t fill) {
    const V index = hn::Load(D(), kJoin.index[fill / sizeof(Lane)]);
    if constexpr (sizeof(Lane) == 8)
      return V{_mm512_permutex2var_epi64(a.raw, index.raw, b.raw)};
    else if constexpr (sizeof(Lane) == 4)
      return V{_mm512_permutex2var_epi32(a.raw, index.raw, b.raw)};
    else if constexpr (sizeof(Lane) == 2)
      return V{_mm512_permutex2var_epi16(a.raw, index.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX3_DL
    else
      return V{_mm512_permutex2var_epi8(a.raw, index.raw, b.raw)};
#else
    else
      return b;  // not instantiated: see kCarries
#endif
  }

  static constexpr JoinTable<Lane> kJoin{};
  OpenColumns<kUnit> columns_;
  std::uint8_t* carry_ = nullptr;  ///< of the open block
  bool fresh_ = false;
  bool ended_ = false;
  alignas(64) std::uint8_t carries_[(kMaxBandCols + B::kCols) * kLine];
};
#endif

/// True when CarrySink exists for this unit here.
template <std::size_t kUnit>
inline constexpr bool kCarries =
#if HWY_TARGET <= HWY_AVX3_DL
    true;
#elif HWY_TARGET <= HWY_AVX3
    kUnit >= 2;
#else
    false;
#endif

/// True when `bytes` divides the address and every stride of the destination's columns.
inline bool dst_divides(const CpuArgs& a, const std::uint8_t* dst, std::uint64_t bytes) {
  std::uint64_t all = reinterpret_cast<std::uintptr_t>(dst);
  for (int i = 0; i < a.nest.rank; ++i) all |= static_cast<std::uint64_t>(a.nest.modes[i].dst_stride);
  for (int i = 0; i < a.col_set.rank; ++i) all |= static_cast<std::uint64_t>(a.col_set.modes[i].dst_stride);
  return all % bytes == 0;
}

/// True when every tile of every column starts on a line.
inline bool lines_align(const CpuArgs& a, const std::uint8_t* dst) {
  return dst_divides(a, dst, kLine) &&
         (a.chunk_rows >= a.rows || a.chunk_rows * a.dst_unit % static_cast<std::int64_t>(kLine) == 0) &&
         (a.tile_rows >= a.rows || a.tile_rows * a.dst_unit % static_cast<std::int64_t>(kLine) == 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
