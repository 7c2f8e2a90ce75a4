// Columns of the pieces that merged-inl.h makes, on their way to lines of dst. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_MERGED_MOVER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_MERGED_MOVER_INL_H_
#undef RESTRIDE_CPU_TILE_MERGED_MOVER_INL_H_
#else
#define RESTRIDE_CPU_TILE_MERGED_MOVER_INL_H_
#endif

#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/merged-inl.h"
#include "src/cpu/tile/record_mover-inl.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

#if HWY_TARGET <= HWY_AVX3_DL
/// Records whose columns are made by permutes. Where columns start as far into their lines, lines are made in
/// registers; else pieces of columns wait for each other in aligned lines, so that each load takes one store's bytes.
/// Of each column the last 64 bytes wait for the next tile. This is what all shapes of blocks share.
class MergingMover : public RecordMover {
 protected:
  using D = hn::CappedTag<std::uint8_t, kLine>;
  using V = hn::Vec<D>;
  static constexpr auto kLineBytes = static_cast<std::int64_t>(kLine);
  static constexpr std::int64_t kBefore = 2;  ///< pieces of the tile above: they hold a line or more
  static constexpr std::int64_t kBehind = 3;  ///< read along

  HWY_NOINLINE MergingMover(const TileArgs& a, const Columns& all)
      : RecordMover(a, all), tables_(a.record, merged_shape(a.dst_unit)) {
    const MergedShape s = merged_shape(a.dst_unit);
    group_cols = s.cols();
    block_rows = std::int64_t{1} << s.levels;
    read_bytes = s.read_bytes();
    in_place = true;
    piece_ = block_rows * a.dst_unit;
    for (std::int64_t i = 0; i < 2 * kLineBytes; ++i)
      line_[i] = static_cast<std::uint8_t>(i / piece_ * kLineBytes + i % piece_);
    for (std::size_t i = 0; i < sizeof(shift_); ++i) shift_[i] = static_cast<std::uint8_t>(i - kLine);
  }

  /// Columns [c, c + cols) leave in lines. pieces: of the first column, from the tile above on.
  HWY_NOINLINE void leave_pieces(const TilePlace& t, std::int64_t c, std::int64_t cols, std::uint8_t* pieces,
                                 std::int64_t pitch) {
    for (const std::int64_t end = c + cols; c < end; ++c, pieces += pitch) leave_column(t, c, pieces);
  }
  /// The lines that columns have begun, whose first `fill` bytes the tile above has left.
  HWY_NOINLINE void open_lines(const TilePlace& t, std::int64_t c, std::uint8_t** to, std::uint8_t (*open)[kLine]) {
    const V index = shifted(kLineBytes - all_.fill[t.first_col + c]);
    for (std::int64_t j = 0; j < group_cols; ++j) {
      to[j] = column(t, c + j);
      hn::Store(permute_one(hn::Load(D(), carry_[t.first_col + c + j]), index), D(), open[j]);
    }
  }
  /// The same behind the tile: they hold `in` bytes, and are `line` bytes behind to.
  HWY_NOINLINE void close_lines(const TilePlace& t, std::int64_t c, std::uint8_t* const* to, std::int64_t line,
                                std::int64_t in, const std::uint8_t (*open)[kLine]) {
    const std::int64_t fill = all_.fill[t.first_col + c];
    for (std::int64_t j = 0; j < group_cols; ++j) {
      const V v = hn::Load(D(), open[j]);
      if (t.last_rows)
        store_bytes(v, to[j] + line, t.first_rows && line == 0 ? fill : 0, in);
      else
        hn::Store(permute_one(v, shifted(fill - kLineBytes)), D(), carry_[t.first_col + c + j]);
    }
  }
  bool same_fill(std::int64_t col) const {
    for (std::int64_t j = 1; j < group_cols; ++j)
      if (all_.fill[col + j] != all_.fill[col]) return false;
    return true;
  }
  /// Bytes [from, to) of a line, by an ordinary store.
  static HWY_INLINE void store_bytes(V line, std::uint8_t* at, std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    const __mmask64 mask = (~std::uint64_t{0} >> (kLineBytes - to)) & (~std::uint64_t{0} << from);
    _mm512_mask_storeu_epi8(at, mask, line.raw);
  }
  /// Byte i is `by` + i.
  HWY_INLINE V shifted(std::int64_t by) const { return hn::LoadU(D(), shift_ + kLineBytes + by); }
  static HWY_INLINE V permute_one(V v, V index) { return V{_mm512_permutexvar_epi8(index.raw, v.raw)}; }

  MergeTables tables_;
  std::int64_t piece_;  ///< bytes of one

 private:
  /// The line that starts `at` bytes, less than a piece, into the first of three pieces.
  HWY_INLINE V line_of(const std::uint8_t* pieces, std::int64_t at) const {
    const D d;
    const V index = hn::LoadU(d, line_ + at);
    const V two = permute_two(hn::Load(d, pieces), index, hn::Load(d, pieces + kLine));
    return permute_into(two, _mm512_movepi8_mask(index.raw), index, hn::Load(d, pieces + 2 * kLine));
  }
  HWY_INLINE void leave_column(const TilePlace& t, std::int64_t c, std::uint8_t* pieces) {
    const D d;
    const std::int64_t piece = piece_, bytes = t.rows * a_.dst_unit;
    std::uint8_t* const carry = carry_[t.first_col + c];
    const auto fill = static_cast<std::int64_t>(all_.fill[t.first_col + c]);
    std::uint8_t* to = column(t, c);
    if (fill != 0 && !t.first_rows) {
      hn::Store(hn::LoadU(d, carry + kLineBytes - 2 * piece), d, pieces);
      hn::Store(hn::LoadU(d, carry + kLineBytes - piece), d, pieces + kLineBytes);
    }
    std::int64_t left = bytes + fill, in = kBefore * piece - fill;  // bytes into the pieces
    const std::uint8_t* from = pieces;
    for (; in >= piece; in -= piece) from += kLineBytes;
    bool top = t.first_rows && fill != 0;
    for (; left > 0; left -= kLineBytes, to += kLineBytes) {
      if (left < kLineBytes && !t.last_rows) break;
      const V line = line_of(from, in);
      if (HWY_UNLIKELY(top || left < kLineBytes))
        store_bytes(line, to, top ? fill : 0, std::min(left, kLineBytes));
      else if (a_.stream)
        hn::Stream(line, d, to);
      else
        hn::StoreU(line, d, to);
      top = false;
      from += kLineBytes;
      in += kLineBytes - piece;
      if (in >= piece) {
        in -= piece;
        from += kLineBytes;
      }
    }
    const std::int64_t end = kBefore * piece + bytes - kLineBytes;
    if (!t.last_rows) hn::Store(line_of(pieces + end / piece * kLineBytes, end % piece), d, carry);
  }

  std::uint8_t shift_[4 * kLine];                  ///< i - 64
  alignas(64) std::uint8_t line_[3 * kLine] = {};  ///< bit 7: from the third piece
  alignas(64) std::uint8_t before_carry_[kLine];   ///< read along
  alignas(64) std::uint8_t carry_[kMaxBandCols + 8][kLine];
};

template <std::size_t kLevels, std::size_t kFirst, std::size_t kLast>
class MergedMover final : public MergingMover {
  using M = Merge<kLevels, kFirst, kLast>;
  static constexpr auto kRows = static_cast<std::int64_t>(M::kRows);
  static constexpr auto kCols = static_cast<std::int64_t>(M::kCols);
  static_assert(kCols <= 8);

 public:
  MergedMover(const TileArgs& a, const Columns& all) : MergingMover(a, all) {}

  void move(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows, std::int64_t at,
            TilePrefetcher* prefetcher) override {
    const M merge(tables_);
    if (a_.stream && cols == kCols && t.rows % kRows == 0 && same_fill(t.first_col + c))
      return move_lines(merge, t, c, rows, at, prefetcher);
    std::uint8_t* to = pieces_[0] + kBefore * kLineBytes;
    for (std::int64_t r = 0; r < t.rows; r += kRows, rows += kRows, to += kLineBytes) {
      prefetcher->advance(kRows * kCols);
      merge.pieces([&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + at; },
                   [&](std::size_t j, V piece)
                       RESTRIDE_INLINE_LAMBDA { hn::Store(piece, D(), to + static_cast<std::int64_t>(j) * kPitch); });
    }
    leave_pieces(t, c, cols, pieces_[0], kPitch);
  }

 private:
  static constexpr std::int64_t kPitch = (kMaxTileRows / kRows + kBefore + kBehind) * kLineBytes;

  /// Whole blocks of columns that all start as far into their lines: lines leave as soon as their last piece is made.
  HWY_INLINE void move_lines(const M& merge, const TilePlace& t, std::int64_t c, const std::uint8_t* const* rows,
                             std::int64_t at, TilePrefetcher* prefetcher) {
    const D d;
    const std::int64_t piece = piece_, row_count = t.rows, fill = all_.fill[t.first_col + c];
    std::int64_t in = fill, line = 0;  // bytes of the open lines, of the lines that left
    bool top = t.first_rows && fill != 0;
    std::uint8_t* to[kCols];
    alignas(64) std::uint8_t opened[kCols][kLine];
    open_lines(t, c, to, opened);
    V open[kCols];
#pragma GCC unroll 16
    for (std::size_t j = 0; j < M::kCols; ++j) open[j] = hn::Load(d, opened[j]);
    for (std::int64_t r = 0; r < row_count; r += kRows, rows += kRows) {
      prefetcher->advance(kRows * kCols);
      const auto row = [&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + at; };
      const V append = shifted(-in);
      const std::uint64_t behind = ~std::uint64_t{0} << in;
      in += piece;
      if (in < kLineBytes) {
        merge.pieces(row, [&](std::size_t j, V p)
                              RESTRIDE_INLINE_LAMBDA { open[j] = permute_into(open[j], behind, append, p); });
        continue;
      }
      in -= kLineBytes;
      const V rest = shifted(piece - in);
      merge.pieces(row, [&](std::size_t j, V p) RESTRIDE_INLINE_LAMBDA {
        const V whole = permute_into(open[j], behind, append, p);
        open[j] = permute_one(p, rest);
        if (HWY_UNLIKELY(top))
          store_bytes(whole, to[j], fill, kLineBytes);
        else
          hn::Stream(whole, d, to[j] + line);
      });
      top = false;
      line += kLineBytes;
    }
#pragma GCC unroll 16
    for (std::size_t j = 0; j < M::kCols; ++j) hn::Store(open[j], d, opened[j]);
    close_lines(t, c, to, line, in, opened);
  }

  alignas(64) std::uint8_t pieces_[kCols][kPitch];
};
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
