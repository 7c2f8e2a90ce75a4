#include "src/cpu/no_byte_permutes.h"  // first

#include "src/cpu/tile/matrices.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tile/matrices.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/matrices-inl.h"
#include "src/cpu/tile/streamed_matrices-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A block of rows at `from` that goes to `to` and the columns behind it.
template <class B>
HWY_INLINE void move_block(const std::uint8_t* from, std::int64_t from_pitch, std::uint8_t* to, std::int64_t to_pitch) {
  B::transpose(from, from_pitch, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
    store(v, typename B::D(), to + static_cast<std::int64_t>(j) * to_pitch);
  });
}

/// The blocks of kBytes' rows at `from`. The last block of columns starts early rather than short.
template <std::size_t kUnit, std::size_t kBytes>
HWY_INLINE void move_blocks(const Matrix& m, const std::uint8_t* from, std::int64_t from_pitch, std::uint8_t* to) {
  const auto move = [&]<class B>(std::int64_t c) RESTRIDE_INLINE_LAMBDA {
    move_block<B>(from + c * static_cast<std::int64_t>(kUnit), from_pitch, to + c * m.to_pitch, m.to_pitch);
  };
  std::int64_t c = 0;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kBytes == kLine && kUnit >= 2 && kUnit <= 8) {  // half of the loads
    constexpr auto kCols = static_cast<std::int64_t>(HalfBlock<kUnit>::kCols);
    for (; c + kCols <= m.cols; c += kCols) move.template operator()<HalfBlock<kUnit>>(c);
  }
#endif
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  for (; c < m.cols; c += kCols) move.template operator()<B>(std::min(c, m.cols - kCols));
}

/// Of a matrix whose columns are shorter than a vector: fewer do not pay for finding its rows.
inline constexpr std::int64_t kLeastShortColumns = 256;

/// Columns of less than a vector that follow each other in dst: each is stored as a whole vector, whose end the next
/// one writes anew. Returns how many were moved: all but the last block.
template <std::size_t kUnit, std::size_t kBytes>
HWY_NOINLINE std::int64_t move_short_columns(Matrix m) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  const std::uint8_t* rows[B::kRows];
  for (std::size_t i = 0; i < B::kRows; ++i)
    rows[i] = m.from + std::min(static_cast<std::int64_t>(i), m.rows - 1) * m.from_pitch;
  const std::int64_t cols = m.cols, pitch = m.to_pitch, moved = cols - kCols;  // stores of bytes cannot change these
  std::uint8_t* to = m.to;
  for (std::int64_t c = 0; c < moved; c += kCols, to += kCols * pitch)
    B::transpose_rows(
        [&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + c * static_cast<std::int64_t>(kUnit); },
        [&](std::size_t j, typename B::V v)
            RESTRIDE_INLINE_LAMBDA { store(v, typename B::D(), to + static_cast<std::int64_t>(j) * pitch); });
  return moved;
}

template <std::size_t kUnit>
void matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
              std::int64_t end) noexcept {
#if HWY_TARGET <= HWY_AVX3
  if (a.stream) return stream_matrices(a, dst, src, begin, end);
  constexpr auto kLineCols = static_cast<std::int64_t>(kLine / kUnit);  // whose rows are a line long
#endif
  for_matrices(a, dst, src, begin, end, [&](const Matrix& whole) RESTRIDE_INLINE_LAMBDA {
    std::int64_t moved = 0;
    if constexpr ((kUnit == 4 || kUnit == 8) && Block<kUnit, 32>::kVectorBytes == 32) {
      const std::int64_t column = whole.rows * static_cast<std::int64_t>(kUnit);
      if (whole.to_pitch == column && whole.cols >= kLeastShortColumns && !a.down_columns) {
        if (column > 16 && column < 32) moved = move_short_columns<kUnit, 32>(whole);
        if (Block<kUnit, 64>::kVectorBytes == 64 && column > 32 && column < 64)
          moved = move_short_columns<kUnit, 64>(whole);
      }
    }
    const Matrix m{whole.to + moved * whole.to_pitch,
                   whole.from + moved * static_cast<std::int64_t>(kUnit),
                   whole.rows,
                   whole.cols - moved,
                   whole.to_pitch,
                   whole.from_pitch};
    for_row_blocks<kUnit>(m.rows, [&](auto bytes, std::int64_t r) RESTRIDE_INLINE_LAMBDA {
      constexpr std::size_t kBytes = decltype(bytes)::value;
      const std::uint8_t* from = m.from + r * m.from_pitch;
      std::int64_t from_pitch = m.from_pitch;
      std::uint8_t* to = m.to + r * static_cast<std::int64_t>(kUnit);
#if HWY_TARGET <= HWY_AVX3
      // Down the columns, lines of src are loaded once each: they need not stay in the first cache.
      const bool by_line = a.down_columns && m.cols == kLineCols;
      if constexpr (kBytes == kLine && (kUnit == 4 || kUnit == 8)) {
        if (by_line) return move_block<SquareBlock<kUnit>>(from, from_pitch, to, m.to_pitch);
      }
      alignas(kLine) std::uint8_t stage[kBytes == kLine && kUnit <= 2 ? kLine / kUnit * kLine : kLine];
      if constexpr (kBytes == kLine && kUnit <= 2) {
        if (by_line) {
          for (std::size_t i = 0; i < kLine / kUnit; ++i)
            std::memcpy(stage + i * kLine, from + static_cast<std::int64_t>(i) * from_pitch, kLine);
          from = stage;
          from_pitch = kLine;
        }
      }
#endif
      move_blocks<kUnit, kBytes>(m, from, from_pitch, to);
    });
  });
}

}  // namespace

KernelCode<MatrixArgs> pick_matrices(int unit) {
  switch (unit) {
    case 1: return matrices<1>;
    case 2: return matrices<2>;
    case 4: return matrices<4>;
    case 8: return matrices<8>;
    default: return matrices<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_matrices);
KernelCode<MatrixArgs> matrices_kernel(int unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_matrices)(unit); }
}  // namespace restride::cpu
#endif
