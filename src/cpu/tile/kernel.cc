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
#include "src/cpu/tile/sink-inl.h"
#include "src/cpu/tile/source-inl.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class AnySink, class AnySource>
void run_tiles_from(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                    std::int64_t end) {
  using B = typename AnySink::B;
  constexpr auto kRows = static_cast<std::int64_t>(B::kRows);
  constexpr auto kCols = static_cast<std::int64_t>(B::kCols);
  AnySource source(a);
  Columns columns;
  AnySink sink(a, columns);
  constexpr std::int64_t kBlockSteps = 6;
  for (TileQueue queue(a, dst, src, begin, end); !queue.empty(); queue.pop()) {
    const TilePlace& t = queue.front();
    if (t.opens_band) columns.open(a, t, AnySink::kByLine);
    const std::int64_t blocks = ceil_div(t.cols, kCols) * ceil_div(t.rows, kRows);
    TilePrefetcher prefetcher(a, queue, blocks * kBlockSteps + t.rows * source.row_steps());
    source.open(t, queue.ahead(1), prefetcher);
    for (std::int64_t c = 0; c < t.cols; c += kCols) {
      const std::int64_t cols = std::min(kCols, t.cols - c);
      source.reach(t, c);
      auto pen = sink.open(t, t.first_col + c);
      std::int64_t r = 0;
      if constexpr (requires { requires AnySink::kTwoLines; }) {
        for (; cols == kCols && sink.two_lines() && r + 2 * kRows <= t.rows; r += 2 * kRows) {
          prefetcher.advance(2 * kBlockSteps);
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
        prefetcher.advance(kBlockSteps);
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

/// Rows are read in place or staged, as the plan says. Each way has its own blocks; the last two are the blocks without
/// CommonArgs::near. Places of rows are for AMD's processors.
template <template <class> class SinkFor, class InPlace, class Staged, class StagedFar = Staged,
          class InPlaceFar = InPlace>
void run_tiles(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  if constexpr (kAmds && (HWY_TARGET <= HWY_AVX3_DL || InPlace::kUnitBytes < 16)) {
    // The plan reckons with columns on lines; where the address has it otherwise, these blocks read whole lines.
    constexpr bool kWholeLines = InPlace::kCols * InPlace::kUnitBytes == kLine;
    const bool in_place = a.source == Source::kInPlace || (a.near && kWholeLines && a.sink == Sink::kLines);
    if (in_place && a.cast_run == nullptr)
      return a.near ? run_tiles_from<SinkFor<InPlace>, RowsInPlace<InPlace>>(a, dst, src, begin, end)
                    : run_tiles_from<SinkFor<InPlaceFar>, RowsInPlace<InPlaceFar>>(a, dst, src, begin, end);
    if (a.near) return run_tiles_from<SinkFor<Staged>, StagedRows<Staged>>(a, dst, src, begin, end);
  }
  run_tiles_from<SinkFor<StagedFar>, StagedRows<StagedFar>>(a, dst, src, begin, end);
}

#if HWY_TARGET != HWY_SCALAR
/// With stores past the caches. What limits them is how far a core's window of instructions reaches ahead, so blocks
/// with fewer loads are faster while their vectors fit the registers; where columns start inside lines, so do rows as a
/// rule, and some of a narrow block's loads are two. Measured on Zen 5: a tenth to a quarter faster than narrow blocks,
/// but a tenth slower for 4-byte units read in place; on Sapphire Rapids as fast or up to a seventh faster, but a
/// twentieth slower for 4-byte units.
template <std::size_t kUnit>
void stream_tiles(const TileArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  using Narrow = Block<kUnit>;
  [[maybe_unused]] const bool lines = a.sink == Sink::kLines && starts_on_lines(a, dst);
#if HWY_TARGET <= HWY_AVX3
  using Line = std::conditional_t<kUnit == 1, Narrow, HalfBlock<kUnit>>;
  using LineNarrow = std::conditional_t<kUnit == 1 || kUnit == 4, Narrow, HalfBlock<kUnit>>;
  using Carried = std::conditional_t<kUnit <= 2, Line, SquareBlock<kUnit>>;
  using Whole = std::conditional_t<kUnit <= 2, LineNarrow, SquareBlock<kUnit>>;
  if (lines) return run_tiles<LineSink, LineNarrow, Line, LineNarrow, Whole>(a, dst, src, begin, end);
  if constexpr (kCarries<kUnit>) return run_tiles<CarrySink, Carried, Carried>(a, dst, src, begin, end);
#elif HWY_TARGET == HWY_AVX2
  if (lines) return run_tiles<LineSink, Narrow, Narrow>(a, dst, src, begin, end);
#endif
  run_tiles<BufferSink, Narrow, Narrow>(a, dst, src, begin, end);
}
#endif

template <std::size_t kUnit>
void tile(const TileArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
          std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  bool stream = a.sink != Sink::kCaches && HWY_TARGET != HWY_SCALAR;  // no vectors, no stores past the caches
#if HWY_TARGET <= HWY_AVX3
  // Elements off their own alignment are too few to have code of their own.
  if constexpr (kCarries<kUnit>) {
    constexpr std::uint64_t kLane = sizeof(typename Block<kUnit>::Lane);
    stream &= dst_divides(dst, a.nest, kLane) && dst_divides(dst, a.col_set, kLane);
  }
#endif
  if (!stream) return run_tiles_from<CacheSink<Block<kUnit>>, StagedRows<Block<kUnit>>>(a, dst, src, begin, end);
#if HWY_TARGET != HWY_SCALAR
  stream_tiles<kUnit>(a, dst, src, begin, end);
#endif
}

}  // namespace

KernelCode<TileArgs> pick_tile(int dst_unit) {
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
KernelCode<TileArgs> tile_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_tile)(dst_unit); }
}  // namespace restride::cpu
#endif
