// Permuting a staged tile plane by plane: two modes are transposed in registers, the others looped over. Included once
// per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_PLANES_INL_H_
#undef RESTRIDE_CPU_PACKED_PLANES_INL_H_
#else
#define RESTRIDE_CPU_PACKED_PLANES_INL_H_
#endif

#include "src/cpu/packed/grouped_planes-inl.h"
#include "src/cpu/packed/ways.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The widest units that planes are made of.
inline constexpr std::size_t kWidestPlaneUnit = 8;

/// Rows a vector of at most kBytes holds.
template <std::size_t kUnit, std::size_t kBytes>
constexpr std::int64_t plane_rows() {
  return static_cast<std::int64_t>(Block<kUnit, kBytes>::kRows);
}

/// True when vectors may write past a column's end: into the next column, which is written next.
template <class B>
HWY_INLINE bool spills(const Plane& p) {
  return p.rows >= static_cast<std::int64_t>(B::kRows) ||
         p.to_pitch == p.rows * static_cast<std::int64_t>(sizeof(typename B::Lane));
}

/// Block by block. Reads whole blocks (rows past the last one included) and may write past the end of a column by
/// less than a vector, so columns go upwards in memory and `to` has a vector's room at its end.
template <std::size_t kUnit, std::size_t kBytes>
HWY_INLINE void transpose_plane(const Plane& p) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  const bool spill = spills<B>(p);
  for (std::int64_t c = 0; c < p.cols; c += kCols) {
    // The last block starts early rather than short, where there is room.
    const std::int64_t first_col = p.cols >= kCols ? std::min(c, p.cols - kCols) : 0;
    const std::int64_t cols = std::min(kCols, p.cols);
    for (std::int64_t r = 0; r < p.rows; r += kRows) {
      const std::int64_t first_row = p.rows >= kRows ? std::min(r, p.rows - kRows) : 0;
      std::uint8_t* to = p.to + first_col * p.to_pitch + first_row * kUnitBytes;
      B::transpose(p.from + first_row * p.from_pitch + first_col * kUnitBytes, hidden_from_compiler(p.from_pitch),
                   [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                     if (static_cast<std::int64_t>(j) >= cols) return;
                     std::uint8_t* column = to + static_cast<std::int64_t>(j) * p.to_pitch;
                     if constexpr (B::kVectorBytes >= 32) {
                       if (p.stream) return stream(v, typename B::D(), column);
                     }
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

/// Records that are split or joined at once.
template <std::size_t kUnit>
inline constexpr std::int64_t kRecordLanes =
#if HWY_TARGET != HWY_SCALAR
    static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<typename LaneOf<kUnit>::type, 64 / kUnit>()));
#else
    INT64_MAX;
#endif

#if HWY_TARGET != HWY_SCALAR
/// kCount columns dense in `from` (records to arrays): rows is long, from_pitch = kCount units.
template <std::size_t kUnit, int kCount>
HWY_INLINE void split_records(const Plane& p) {
  using Lane = typename LaneOf<kUnit>::type;
  const hn::CappedTag<Lane, 64 / sizeof(Lane)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
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
}

/// kCount rows joined into records (arrays to records): cols is long, to_pitch = kCount units.
template <std::size_t kUnit, int kCount>
HWY_INLINE void join_records(const Plane& p) {
  using Lane = typename LaneOf<kUnit>::type;
  const hn::CappedTag<Lane, 64 / sizeof(Lane)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
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
}
#endif

/// Calls act(std::integral_constant<std::size_t, V>) with V the bytes of a vector for these rows: 16, or the most.
template <std::size_t kUnit, class Act>
HWY_INLINE auto with_plane_vector(std::int64_t rows, const Act& act) {
  // Vectors of half a line would be for the few planes of AVX-512 that are not taken in groups (grouped_planes-inl.h).
  constexpr std::size_t kLongest = Block<kUnit>::kVectorBytes;
  if constexpr (kLongest > 16)
    if (plane_vector_bytes(kUnit, rows) >= static_cast<std::int64_t>(kLongest))
      return act(std::integral_constant<std::size_t, kLongest>());
  return act(std::integral_constant<std::size_t, 16>());
}

/// Rows that reading a plane of this many may touch.
template <std::size_t kUnit>
inline std::int64_t plane_rows_read(std::int64_t rows) {
  return with_plane_vector<kUnit>(rows, [&](auto bytes) { return std::max(rows, plane_rows<kUnit, bytes>()); });
}

template <std::size_t kUnit>
HWY_INLINE bool splits_records(const Plane& p) {
  return cpu::splits_records(static_cast<std::int64_t>(kUnit), p.rows, p.cols, p.from_pitch, kRecordLanes<kUnit>);
}
template <std::size_t kUnit>
HWY_INLINE bool joins_records(const Plane& p) {
  return cpu::joins_records(static_cast<std::int64_t>(kUnit), p.rows, p.cols, p.to_pitch, kRecordLanes<kUnit>);
}

/// True when a plane may leave past the caches as it is transposed: its columns are whole lines, a vector each or
/// several, or halves of lines that follow each other. (Not halves of 8-byte units: their blocks are two columns wide,
/// and left slower than by way of a buffer.)
template <std::size_t kUnit>
inline bool streams_columns(const Plane& p) {
  const std::int64_t column_bytes = p.rows * static_cast<std::int64_t>(kUnit);
  if (p.to_pitch != column_bytes || splits_records<kUnit>(p) || joins_records<kUnit>(p)) return false;
  return with_plane_vector<kUnit>(p.rows, [&](auto bytes) {
    constexpr bool kWhole = bytes == 64 || (bytes == 32 && kUnit <= 4);
    return kWhole && Block<kUnit, bytes>::kVectorBytes == bytes && column_bytes % bytes == 0;
  });
}

/// What move_plane takes: see cpu/packed/ways.h.
template <std::size_t kUnit>
inline double cycles_of_plane(const Plane& p) {
  return moved_plane_cycles(static_cast<std::int64_t>(kUnit), p.rows, p.cols, p.from_pitch, p.to_pitch,
                            static_cast<std::int64_t>(Block<kUnit>::kVectorBytes), kRecordLanes<kUnit>);
}

template <std::size_t kUnit>
HWY_INLINE void move_plane(const Plane& p) {
#if HWY_TARGET != HWY_SCALAR
  if (splits_records<kUnit>(p)) {
    if (p.cols == 2) return split_records<kUnit, 2>(p);
    if (p.cols == 3) return split_records<kUnit, 3>(p);
    return split_records<kUnit, 4>(p);
  }
  if (joins_records<kUnit>(p)) {
    if (p.rows == 2) return join_records<kUnit, 2>(p);
    if (p.rows == 3) return join_records<kUnit, 3>(p);
    return join_records<kUnit, 4>(p);
  }
#endif
  with_plane_vector<kUnit>(p.rows, [&](auto bytes) RESTRIDE_INLINE_LAMBDA { transpose_plane<kUnit, bytes>(p); });
}

/// The same for all `count` planes.
template <std::size_t kUnit>
HWY_NOINLINE void move_planes(Plane p) {
  for (std::int64_t n = p.count; n > 0; --n, p.from += p.from_step, p.to += p.to_step) move_plane<kUnit>(p);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
