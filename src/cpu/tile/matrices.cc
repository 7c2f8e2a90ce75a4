#include "src/cpu/no_byte_permutes.h"  // first

#include "src/cpu/tile/matrices.h"

#include <algorithm>

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

/// The blocks of rows [r, r + kRows) for vectors of up to kBytes. The last block of columns starts early rather than
/// short.
template <std::size_t kUnit, std::size_t kBytes>
HWY_INLINE void move_blocks(const Matrix& m, std::int64_t r) {
  using B = Block<kUnit, kBytes>;
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  for (std::int64_t c = 0; c < m.cols; c += kCols) {
    const std::int64_t first = std::min(c, m.cols - kCols);
    B::transpose(m.from + r * m.from_pitch + first * kUnitBytes, m.from_pitch,
                 [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA {
                   store(v, typename B::D(),
                         m.to + (first + static_cast<std::int64_t>(j)) * m.to_pitch + r * kUnitBytes);
                 });
  }
}

template <std::size_t kUnit>
void matrices(const MatrixArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
              std::int64_t end) noexcept {
#if HWY_TARGET <= HWY_AVX3
  if (a.stream) return stream_matrices(a, dst, src, begin, end);
#endif
  for_matrices(a, dst, src, begin, end, [](const Matrix& m) RESTRIDE_INLINE_LAMBDA {
    for_row_blocks<kUnit>(m.rows, [&](auto bytes, std::int64_t r)
                                      RESTRIDE_INLINE_LAMBDA { move_blocks<kUnit, decltype(bytes)::value>(m, r); });
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
