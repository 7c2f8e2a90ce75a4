// Permuting a staged tile of 1- and 2-byte units, for which no vector gather exists: two modes are transposed in
// registers, the others looped over. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_WEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_WEAVE_INL_H_
#undef RESTRIDE_KERNELS_CPU_WEAVE_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_WEAVE_INL_H_
#endif

#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One plane of a tile: `rows` units that become dense in `to`, `cols` that are dense in `from`. Pitches in bytes.
struct Plane {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t from_pitch;  ///< from row to row
  std::int64_t to_pitch;    ///< from column to column
};

/// Rows a vector of at most kBytes holds.
template <std::size_t kUnit, std::size_t kBytes>
constexpr std::int64_t plane_rows() {
  return static_cast<std::int64_t>(Block<kUnit, kBytes>::kRows);
}

/// Block by block. Reads whole blocks (rows past the last one included) and may write past the end of a column by
/// less than a vector, so columns go upwards in memory and `to` has a vector's room at its end.
template <std::size_t kUnit, std::size_t kBytes>
HWY_INLINE void transpose_plane(const Plane& p) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  // A short column's vector spills over what lies behind it: fine if that is the next column, written next.
  const bool spill = p.rows >= kRows || p.to_pitch == p.rows * kUnitBytes;
  for (std::int64_t c = 0; c < p.cols; c += kCols) {
    // The last block starts early rather than short, where there is room.
    const std::int64_t first_col = p.cols >= kCols ? std::min(c, p.cols - kCols) : 0;
    const std::int64_t cols = std::min(kCols, p.cols);
    for (std::int64_t r = 0; r < p.rows; r += kRows) {
      const std::int64_t first_row = p.rows >= kRows ? std::min(r, p.rows - kRows) : 0;
      std::uint8_t* to = p.to + first_col * p.to_pitch + first_row * kUnitBytes;
      B::transpose(p.from + first_row * p.from_pitch + first_col * kUnitBytes, p.from_pitch,
                   [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                     if (static_cast<std::int64_t>(j) >= cols) return;
                     std::uint8_t* column = to + static_cast<std::int64_t>(j) * p.to_pitch;
                     if (HWY_LIKELY(spill)) {
                       store(v, typename B::D(), column);
                     } else {
                       std::uint8_t whole[B::kVectorBytes];
                       store(v, typename B::D(), whole);
                       std::memcpy(column, whole, static_cast<std::size_t>(p.rows * kUnitBytes));
                     }
                   });
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
/// kCount columns dense in `from` (records to arrays): rows is long, from_pitch = kCount units.
template <std::size_t kUnit, int kCount>
HWY_INLINE bool split_records(const Plane& p) {
  using Lane = typename LaneOf<kUnit>::type;
  const hn::CappedTag<Lane, 64 / sizeof(Lane)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (p.rows < lanes) return false;
  const auto* from = reinterpret_cast<const Lane*>(p.from);
  for (std::int64_t i = 0; i < p.rows; i += lanes) {
    const std::int64_t at = std::min(i, p.rows - lanes);
    hn::Vec<decltype(d)> v0, v1, v2, v3;
    if constexpr (kCount == 2) hn::LoadInterleaved2(d, from + at * kCount, v0, v1);
    if constexpr (kCount == 3) hn::LoadInterleaved3(d, from + at * kCount, v0, v1, v2);
    if constexpr (kCount == 4) hn::LoadInterleaved4(d, from + at * kCount, v0, v1, v2, v3);
    std::uint8_t* to = p.to + at * static_cast<std::int64_t>(kUnit);
    hn::StoreU(v0, d, reinterpret_cast<Lane*>(to));
    hn::StoreU(v1, d, reinterpret_cast<Lane*>(to + p.to_pitch));
    if constexpr (kCount >= 3) hn::StoreU(v2, d, reinterpret_cast<Lane*>(to + 2 * p.to_pitch));
    if constexpr (kCount >= 4) hn::StoreU(v3, d, reinterpret_cast<Lane*>(to + 3 * p.to_pitch));
  }
  return true;
}

/// kCount rows woven into records (arrays to records): cols is long, to_pitch = kCount units.
template <std::size_t kUnit, int kCount>
HWY_INLINE bool join_records(const Plane& p) {
  using Lane = typename LaneOf<kUnit>::type;
  const hn::CappedTag<Lane, 64 / sizeof(Lane)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (p.cols < lanes) return false;
  auto* to = reinterpret_cast<Lane*>(p.to);
  for (std::int64_t i = 0; i < p.cols; i += lanes) {
    const std::int64_t at = std::min(i, p.cols - lanes);
    const auto row = [&](int r) HWY_ATTR {
      return hn::LoadU(
          d, reinterpret_cast<const Lane*>(p.from + r * p.from_pitch + at * static_cast<std::int64_t>(kUnit)));
    };
    if constexpr (kCount == 2) hn::StoreInterleaved2(row(0), row(1), d, to + at * kCount);
    if constexpr (kCount == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to + at * kCount);
    if constexpr (kCount == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to + at * kCount);
  }
  return true;
}
#endif

/// Rows that reading a plane of this many may touch.
template <std::size_t kUnit>
inline std::int64_t plane_rows_read(std::int64_t rows) {
  if (rows <= plane_rows<kUnit, 16>()) return plane_rows<kUnit, 16>();
  if (rows <= plane_rows<kUnit, 32>()) return std::max(rows, plane_rows<kUnit, 32>());
  return std::max(rows, plane_rows<kUnit, 64>());
}

template <std::size_t kUnit>
HWY_INLINE void weave_plane(const Plane& p) {
#if HWY_TARGET != HWY_SCALAR
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  if (p.from_pitch == p.cols * kUnitBytes) {
    if (p.cols == 2 && split_records<kUnit, 2>(p)) return;
    if (p.cols == 3 && split_records<kUnit, 3>(p)) return;
    if (p.cols == 4 && split_records<kUnit, 4>(p)) return;
  }
  if (p.to_pitch == p.rows * kUnitBytes) {
    if (p.rows == 2 && join_records<kUnit, 2>(p)) return;
    if (p.rows == 3 && join_records<kUnit, 3>(p)) return;
    if (p.rows == 4 && join_records<kUnit, 4>(p)) return;
  }
#endif
  if (p.rows <= plane_rows<kUnit, 16>())
    transpose_plane<kUnit, 16>(p);
  else if (p.rows <= plane_rows<kUnit, 32>())
    transpose_plane<kUnit, 32>(p);
  else
    transpose_plane<kUnit, 64>(p);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
