// The sink for columns at any alignment that is whole units, where two-register permutes exist. Included once per
// instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_CARRY_SINK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_CARRY_SINK_INL_H_
#undef RESTRIDE_CPU_TILE_CARRY_SINK_INL_H_
#else
#define RESTRIDE_CPU_TILE_CARRY_SINK_INL_H_
#endif

#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/columns-inl.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/late_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
/// between the vectors of a tile, because a block's columns and their carried ends do not fit into the registers.
template <class Blocks>
class CarrySink {
  static constexpr std::size_t kUnit = Blocks::kUnitBytes;

 public:
  using B = Blocks;
  using D = typename B::D;
  using V = typename B::V;
  using Lane = typename B::Lane;
  static constexpr bool kByLine = true;
  static constexpr bool kTwoLines = true;
  static_assert(B::kVectorBytes == kLine);

  struct Pen {
    HWY_INLINE bool late(std::size_t j) const { return is_late<kUnit>(j, odd_late); }
    HWY_INLINE void put(std::size_t j, V v) const {
      if (late(j)) {
        if (HWY_LIKELY(!columns.at_top())) leave(j);
        store(v, D(), slot(j, columns.at_odd_line()));
        return;
      }
      const V line = join(above(j), v, columns.fill(j));
      if (HWY_UNLIKELY(columns.at_top()))
        store_bytes(line, columns.to(j), columns.fill(j), kLine);
      else
        stream(line, D(), columns.to(j));
      store(v, D(), slot(j, false));
    }
    /// Two lines of column j, which is not late: the carried end is loaded and stored once for both.
    HWY_INLINE void put_two(std::size_t j, V v, V below) const {
      const std::size_t fill = columns.fill(j);
      const V line = join(above(j), v, fill);
      if (HWY_UNLIKELY(columns.at_top()))
        store_bytes(line, columns.to(j), fill, kLine);
      else
        stream(line, D(), columns.to(j));
      stream(join(v, below, fill), D(), columns.to(j) + kLine);
      store(below, D(), slot(j, false));
    }
    HWY_INLINE void put_part(std::size_t j, V v, std::int64_t bytes) const {
      if (bytes == static_cast<std::int64_t>(kLine)) return put(j, v);
      if (late(j) && !columns.at_top()) leave(j);
      const std::size_t fill = columns.fill(j);
      const std::size_t total = fill + static_cast<std::size_t>(bytes);
      store_bytes(join(above(j), v, fill), columns.to(j), columns.at_top() ? fill : 0, std::min(total, kLine));
      if (total > kLine) store_bytes(join(v, v, fill), columns.to(j) + kLine, 0, total - kLine);
    }
    /// What waits of column j, which ends with it.
    HWY_INLINE void end(std::size_t j) const {
      if (late(j)) leave(j);
      const std::size_t fill = columns.fill(j);
      if (fill != 0) store_bytes(join(above(j), above(j), fill), columns.to(j), 0, fill);
    }
    HWY_INLINE void advance() { columns.advance(); }

    OpenColumns<kUnit> columns;
    std::uint8_t* carry;
    bool odd_late;
    bool whole;  ///< the tile ends with a vector

   private:
    /// The line above the next of late column j leaves.
    HWY_INLINE void leave(std::size_t j) const {
      const V line = join(load(D(), slot(j, columns.at_odd_line())), above(j), columns.fill(j));
      if (HWY_UNLIKELY(columns.at_second_line()))
        store_bytes(line, columns.to(j) - kLine, columns.fill(j), kLine);
      else
        stream(line, D(), columns.to(j) - kLine);
    }
    /// The vector above the next.
    HWY_INLINE V above(std::size_t j) const { return load(D(), slot(j, late(j) && !columns.at_odd_line())); }
    /// Three lines a pair of columns: an odd one that is late carries two vectors.
    HWY_INLINE std::uint8_t* slot(std::size_t j, bool second) const {
      return carry + (j / 2 * 3 + j % 2 + (second ? 1 : 0)) * kLine;
    }
  };

  CarrySink(const TileArgs& a, const Columns& all) : all_(all), odd_late_(a.late) {}
  bool two_lines() const { return !kLateLines<kUnit> || !odd_late_; }  ///< leave in turn
  template <class Place>
  HWY_INLINE Pen open(const Place& t, std::int64_t c) {
    return {OpenColumns<kUnit>(all_, t, c), carries_ + c * 3 / 2 * static_cast<std::int64_t>(kLine), odd_late_,
            t.rows % static_cast<std::int64_t>(B::kRows) == 0};
  }
  HWY_INLINE void close(const Pen& pen, std::int64_t, std::int64_t cols, bool last) {
    if (!last || !pen.whole) return;
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j) pen.end(j);
  }
  HWY_INLINE void finish() { hwy::FlushStream(); }

 private:
  /// Bytes [from, to) of a line, by an ordinary store.
  static HWY_INLINE void store_bytes(V line, std::uint8_t* at, std::size_t from, std::size_t to) {
    const __mmask64 mask = (~std::uint64_t{0} >> (kLine - to)) & (~std::uint64_t{0} << from);
    _mm512_mask_storeu_epi8(at, mask, line.raw);
  }

  /// The last `fill` bytes of a, then the first of b.
  static HWY_INLINE V join(V a, V b, std::size_t fill) {
    return permute_two(a, hn::Load(D(), kJoin.index[fill / sizeof(Lane)]), b);
  }

  static constexpr JoinTable<Lane> kJoin{};
  const Columns& all_;
  bool odd_late_;
  alignas(64) std::uint8_t carries_[(kMaxBandCols + B::kCols + 1) / 2 * 3 * kLine];
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

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
