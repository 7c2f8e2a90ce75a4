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
    // After the loads: until then it need not be in a register of its own.
    if (B::kHidesPitch && j == 0) to_pitch = hidden_from_compiler(to_pitch);
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

/// Of matrices whose columns are shorter than a vector: fewer do not pay for finding the rows.
inline constexpr std::int64_t kLeastShortColumns = 512;

/// Columns of less than a vector that follow each other in dst: each is stored as a whole vector, whose end the next
/// one writes anew. The last ones go unit by unit.
template <std::size_t kUnit, std::size_t kBytes>
HWY_NOINLINE void short_columns(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                                std::int64_t end) noexcept {
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols), kStep = static_cast<std::int64_t>(kUnit);
  for_matrices(a, dst, src, begin, end, [&](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    const std::uint8_t* rows[B::kRows];
    for (std::size_t i = 0; i < B::kRows; ++i)
      rows[i] = m.from + std::min(static_cast<std::int64_t>(i), m.rows - 1) * m.from_pitch;
    std::uint8_t* to = m.to;
    std::int64_t c = 0;
    for (; c + kCols < m.cols; c += kCols, to += kCols * m.to_pitch)
      B::transpose_rows([&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return rows[i] + c * kStep; },
                        [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                          store(v, typename B::D(), to + static_cast<std::int64_t>(j) * m.to_pitch);
                        });
    for (; c < m.cols; ++c, to += m.to_pitch)
      for (std::int64_t r = 0; r < m.rows; ++r) std::memcpy(to + r * kStep, rows[r] + c * kStep, kUnit);
  });
}

/// Matrices by blocks of vectors of up to kMostBytes. Those with too few rows for longer vectors have a function of
/// their own, whose addresses compilers keep in registers from matrix to matrix.
template <std::size_t kUnit, std::size_t kMostBytes>
HWY_NOINLINE void move_matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                                std::int64_t end) noexcept {
#if HWY_TARGET <= HWY_AVX3
  constexpr auto kLineCols = static_cast<std::int64_t>(kLine / kUnit);  // whose rows are a line long
#endif
  for_matrices(a, dst, src, begin, end, [&](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    for_row_blocks<kUnit, kMostBytes>(m.rows, [&](auto bytes, std::int64_t r) RESTRIDE_INLINE_LAMBDA {
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

template <std::size_t kUnit>
void matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
              std::int64_t end) noexcept {
#if HWY_TARGET <= HWY_AVX3
  if (a.stream) return stream_matrices(a, dst, src, begin, end);
#endif
  if constexpr ((kUnit == 4 || kUnit == 8) && Block<kUnit, 32>::kVectorBytes == 32) {
    const std::int64_t column = a.rows * static_cast<std::int64_t>(kUnit);
    if (a.col_dst_stride == column && a.cols >= kLeastShortColumns && !a.down_columns) {
      if constexpr (kUnit == 4)  // three units of 8 bytes are channels
        if (column > 16 && column < 32) return short_columns<kUnit, 32>(a, dst, src, begin, end);
      if constexpr (Block<kUnit, 64>::kVectorBytes == 64)
        if (column > 32 && column < 64) return short_columns<kUnit, 64>(a, dst, src, begin, end);
    }
  }
  const std::int64_t bytes = a.rows * static_cast<std::int64_t>(kUnit);
  if constexpr (Block<kUnit, 32>::kVectorBytes == 32)
    if (bytes < 32) return move_matrices<kUnit, 16>(a, dst, src, begin, end);
  if constexpr (Block<kUnit, 64>::kVectorBytes == 64)
    if (bytes < 64) return move_matrices<kUnit, 32>(a, dst, src, begin, end);
  move_matrices<kUnit, 64>(a, dst, src, begin, end);
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
