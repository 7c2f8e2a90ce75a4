// Transposes of matrices whose rows start anywhere in src and whose columns start anywhere in dst, by tables of both.
// Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_BUFFERED_MATRIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_BUFFERED_MATRIX_INL_H_
#undef RESTRIDE_CPU_BUFFERED_MATRIX_INL_H_
#else
#define RESTRIDE_CPU_BUFFERED_MATRIX_INL_H_
#endif

#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Row r is dense at from + row_offsets[r], column c at to + places[c]. Rows of less than 16 bytes are read as 16.
struct Matrix {
  const std::uint8_t* from;
  const std::int64_t* row_offsets;
  std::int64_t rows;
  std::uint8_t* to;
  const std::int64_t* places;
  std::int64_t cols;
};

/// The first n < 16 bytes of v.
template <class V, class D>
HWY_INLINE void store_first(V v, D d, std::uint8_t* to, std::size_t n) {
#if HWY_TARGET <= HWY_AVX3
  using Lane = hn::TFromD<D>;
  hn::BlendedStore(v, hn::FirstN(d, n / sizeof(Lane)), d, reinterpret_cast<Lane*>(to));
#else
  alignas(16) std::uint8_t bytes[16];
  store(v, d, bytes);
  const auto ends = [&](auto word) RESTRIDE_INLINE_LAMBDA {  // two words that overlap
    std::memcpy(to, bytes, sizeof word);
    std::memcpy(to + n - sizeof word, bytes + n - sizeof word, sizeof word);
  };
  if (n >= 8)
    ends(std::uint64_t{});
  else if (n >= 4)
    ends(std::uint32_t{});
  else if (n >= 2)
    ends(std::uint16_t{});
  else
    *to = bytes[0];
#endif
}

/// A block of rows [r, r + B::kRows) and of the columns from `first` on, which may be fewer than the block has.
template <class B>
HWY_INLINE void move_matrix_block(const Matrix& m, std::int64_t r, std::int64_t first) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(B::kUnitBytes);
  const std::int64_t* offsets = m.row_offsets + r;
  std::uint8_t* to = m.to + r * kUnitBytes;
  const std::uint8_t* from = m.from + first * kUnitBytes;
  const std::int64_t* places = m.places + first;
  const std::int64_t cols = m.cols - first;
  B::transpose_rows([=](std::size_t i) RESTRIDE_INLINE_LAMBDA { return from + offsets[i]; },
                    [=](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                      if (static_cast<std::int64_t>(j) < cols) store(v, typename B::D(), to + places[j]);
                    });
}

/// The blocks of rows [r, r + kRows), all columns. The last block of columns starts early rather than short.
template <std::size_t kUnit, std::size_t kBytes, class Step>
HWY_INLINE void move_matrix_blocks(const Matrix& m, std::int64_t r, const Step& step) {
  std::int64_t c = 0;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kBytes == 64 && kUnit >= 2 && kUnit <= 8) {  // half of the loads
    constexpr auto kCols = static_cast<std::int64_t>(HalfBlock<kUnit>::kCols);
    for (; c + kCols <= m.cols; c += kCols) {
      move_matrix_block<HalfBlock<kUnit>>(m, r, c);
      step(kCols * static_cast<std::int64_t>(kBytes));
    }
  }
#endif
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  for (; c < m.cols; c += kCols) {
    move_matrix_block<B>(m, r, std::max<std::int64_t>(std::min(c, m.cols - kCols), 0));
    step(kCols * static_cast<std::int64_t>(B::kVectorBytes));
  }
}

/// The same for fewer rows than a vector of 16 bytes has: the last one stands in for those that are missing.
template <std::size_t kUnit, class Step>
HWY_INLINE void move_few_rows(const Matrix& m, const Step& step) {
  using B = Block<kUnit, 16>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  std::int64_t offsets[kRows];
  for (std::int64_t i = 0; i < kRows; ++i) offsets[i] = m.row_offsets[std::min(i, m.rows - 1)];
  const auto bytes = static_cast<std::size_t>(m.rows) * kUnit;
  for (std::int64_t c = 0; c < m.cols; c += kCols) {
    const std::int64_t first = std::max<std::int64_t>(std::min(c, m.cols - kCols), 0);
    const std::uint8_t* from = m.from + first * kUnitBytes;
    B::transpose_rows([&](std::size_t i) RESTRIDE_INLINE_LAMBDA { return from + offsets[i]; },
                      [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                        const std::int64_t col = first + static_cast<std::int64_t>(j);
                        if (col < m.cols) store_first(v, typename B::D(), m.to + m.places[col], bytes);
                      });
    step(kCols * static_cast<std::int64_t>(bytes));
  }
}

/// step(bytes) is called between blocks with the bytes just written, in all at least the matrix's. Not inlined: it is
/// large.
template <std::size_t kUnit, class Step>
HWY_NOINLINE void move_matrix(const Matrix& m, const Step& step) {
  if (m.rows < static_cast<std::int64_t>(Block<kUnit, 16>::kRows)) return move_few_rows<kUnit>(m, step);
  for_row_blocks<kUnit>(m.rows, [&](auto bytes, std::int64_t r) RESTRIDE_INLINE_LAMBDA {
    move_matrix_blocks<kUnit, decltype(bytes)::value>(m, r, step);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
