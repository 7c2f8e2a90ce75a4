#include "src/cpu/tile/kernel.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/tile/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/carry_sink-inl.h"
#include "src/cpu/tile/columns-inl.h"
#include "src/cpu/tile/matrix-inl.h"
#include "src/cpu/tile/sink-inl.h"
#include "src/cpu/tile/source-inl.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class Sink, class Source>
void run_tiles_from(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                    std::int64_t end) {
  using B = typename Sink::B;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  Source source(a);
  Columns columns;
  Sink sink(a, columns);
  constexpr std::int64_t kBlockSteps = 6;
  for (TileQueue queue(a, dst, src, begin, end); !queue.empty(); queue.pop()) {
    const TilePlace& t = queue.front();
    if (t.opens_band) columns.open(a, t, Sink::kByLine);
    const std::int64_t blocks = ceil_div(t.cols, kCols) * ceil_div(t.rows, kRows);
    TileAsker asker(a, queue, blocks * kBlockSteps + t.rows * source.row_steps());
    source.open(t, queue.ahead(1), asker);
    for (std::int64_t c = 0; c < t.cols; c += kCols) {
      const std::int64_t cols = std::min(kCols, t.cols - c);
      source.reach(t, c);
      auto pen = sink.open(t, t.first_col + c);
      std::int64_t r = 0;
      if constexpr (requires { requires Sink::kTwoLines; }) {
        for (; cols == kCols && r + 2 * kRows <= t.rows; r += 2 * kRows) {
          asker.advance(2 * kBlockSteps);
          source.step();
          source.step();
          typename B::V above[B::kCols];
          source.transpose(r, c, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA { above[j] = v; });
          source.transpose(r + kRows, c,
                           [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA { pen.put_two(j, above[j], v); });
          pen.advance();
          pen.advance();
        }
      }
      for (; r < t.rows; r += kRows) {
        asker.advance(kBlockSteps);
        source.step();
        const std::int64_t bytes = std::min(kRows, t.rows - r) * static_cast<std::int64_t>(B::kUnitBytes);
        if (bytes == static_cast<std::int64_t>(B::kVectorBytes) && cols == kCols) {
          source.transpose(r, c, [&](std::size_t j, typename B::V v) RESTRIDE_INLINE_LAMBDA { pen.put(j, v); });
        } else {
          BlockColumns<B> block;
          source.ragged(t, r, c, &block);
          for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j) pen.put_part(j, block.column(j), bytes);
        }
        pen.advance();
      }
      sink.close(pen, t.first_col + c, cols, t.last_rows);
    }
  }
  sink.finish();
}

/// Rows are read in place or staged, as suits them, by the blocks of either; the last are those without CpuArgs::near,
/// which is for AMD's processors: those with AVX-512 have all of AVX3_DL.
template <template <class> class Sink, class InPlace, class Staged, class StagedFar = Staged>
void run_tiles(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
#if HWY_TARGET <= HWY_AVX3_DL
  TilePlace first;
  if (a.near && TileWalk(a, dst, src, begin, end).next(&first) && reads_in_place<InPlace>(a, first))
    return run_tiles_from<Sink<InPlace>, RowsInPlace<InPlace>>(a, dst, src, begin, end);
  if (a.near) return run_tiles_from<Sink<Staged>, StagedRows<Staged>>(a, dst, src, begin, end);
#endif
  run_tiles_from<Sink<StagedFar>, StagedRows<StagedFar>>(a, dst, src, begin, end);
}

/// With stores past the caches. What limits them is how far a core's window of instructions reaches ahead, so blocks
/// with fewer loads are faster while their vectors fit the registers; where columns start inside lines, so do rows as a
/// rule, and some of a narrow block's loads are two. Measured on Zen 5: a tenth to a quarter faster than narrow blocks,
/// but a tenth slower for 4-byte units read in place; on Sapphire Rapids as fast or up to a seventh faster, but a
/// twentieth slower for 4-byte units.
template <std::size_t kUnit>
void stream_tiles(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  using Narrow = Block<kUnit>;
#if HWY_TARGET <= HWY_AVX3
  using Line = std::conditional_t<kUnit == 1, Narrow, HalfBlock<kUnit>>;
  using LineNarrow = std::conditional_t<kUnit == 1 || kUnit == 4, Narrow, HalfBlock<kUnit>>;
  using Carried = std::conditional_t<kUnit <= 2, Line, SquareBlock<kUnit>>;
  if (lines_align(a, dst)) return run_tiles<LineSink, LineNarrow, Line, LineNarrow>(a, dst, src, begin, end);
  if constexpr (kCarries<kUnit>) return run_tiles<CarrySink, Carried, Carried>(a, dst, src, begin, end);
#else
  if (lines_align(a, dst)) return run_tiles<LineSink, Narrow, Narrow>(a, dst, src, begin, end);
#endif
  run_tiles<BufferSink, Narrow, Narrow>(a, dst, src, begin, end);
}

template <std::size_t kUnit>
void tile(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
          std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  if (a.direct) return move_matrices<kUnit>(a, dst, src, begin, end);
  bool stream = a.stream;
#if HWY_TARGET <= HWY_AVX3
  // Elements off their own alignment are too few to have code of their own.
  if (kCarries<kUnit>) stream &= dst_divides(a, dst, sizeof(typename Block<kUnit>::Lane));
#endif
  if (!stream) return run_tiles_from<DirectSink<Block<kUnit>>, StagedRows<Block<kUnit>>>(a, dst, src, begin, end);
  stream_tiles<kUnit>(a, dst, src, begin, end);
}

}  // namespace

CpuKernel pick_tile(int dst_unit) {
  switch (dst_unit) {
    case 1: return tile<1>;
    case 2: return tile<2>;
    case 4: return tile<4>;
    case 8: return tile<8>;
    default: return tile<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_tile);
CpuKernel tile_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_tile)(dst_unit); }
}  // namespace restride::cpu
#endif
