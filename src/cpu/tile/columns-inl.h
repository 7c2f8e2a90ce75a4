// Where the columns of a transpose are written: of a task, and of the block that is open. Included once per
// instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_COLUMNS_INL_H_
#undef RESTRIDE_CPU_TILE_COLUMNS_INL_H_
#else
#define RESTRIDE_CPU_TILE_COLUMNS_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Where the columns of a band are written, for all tiles of a task.
struct Columns {
  std::uint8_t* at[kMaxBandCols];   ///< the first row of the task; for sinks that write lines, the line it lies in
  std::uint8_t fill[kMaxBandCols];  ///< bytes of that line in front of it; constant down the column, since tiles are
                                    ///< whole lines high
  std::int64_t first_row = 0;       ///< of the task

  /// Once a band, so not inlined.
  template <class Place>
  HWY_NOINLINE void open(const TileArgs& a, const Place& t, bool by_line) {
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

/// The columns of the open block, as far as its next vectors of rows. Part of a sink's pen.
template <std::size_t kUnit>
class OpenColumns {
 public:
  template <class Place>
  OpenColumns(const Columns& all, const Place& t, std::int64_t c)
      : at_(all.at + c),
        fill_(all.fill + c),
        row_bytes_((t.first_row - all.first_row) * static_cast<std::int64_t>(kUnit)) {}
  HWY_INLINE std::uint8_t* to(std::size_t j) const { return at_[j] + row_bytes_; }
  HWY_INLINE std::size_t fill(std::size_t j) const { return fill_[j]; }
  HWY_INLINE bool at_top() const { return row_bytes_ == 0; }  ///< of the task
  HWY_INLINE bool at_second_line() const { return row_bytes_ == static_cast<std::int64_t>(kLine); }
  HWY_INLINE bool at_odd_line() const { return (row_bytes_ & static_cast<std::int64_t>(kLine)) != 0; }
  HWY_INLINE void advance() { row_bytes_ += static_cast<std::int64_t>(Block<kUnit>::kVectorBytes); }

 private:
  std::uint8_t* const* at_;
  const std::uint8_t* fill_;
  std::int64_t row_bytes_;
};

template <class V, class D>
HWY_INLINE void store_part(V v, D d, std::uint8_t* to, std::size_t from, std::size_t bytes) {
  alignas(64) std::uint8_t lane[64];
  store(v, d, lane);
  std::memcpy(to, lane + from, bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
