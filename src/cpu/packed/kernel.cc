#include "src/cpu/packed/kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/packed/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/base/checked.h"
#include "src/cpu/packed/planes-inl.h"
#include "src/cpu/packed/shuffles-inl.h"
#include "src/cpu/packed/table_pick-inl.h"
#include "src/cpu/packed/tables-inl.h"
#include "src/cpu/simd/piece_writer-inl.h"
#include "src/cpu/simd/run_writers-inl.h"
#include "src/cpu/simd/tile_prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Bytes of dst that are put together before they are written.
constexpr std::int64_t kPieceBytes = 512;

/// Bytes of dst whose source is prefetched at once: more would wait for room among the first cache's misses.
constexpr std::int64_t kMostPrefetchBytes = 2048;

/// The tile's source runs, converted if there is a cast, one behind the other.
template <std::size_t kUnit>
HWY_INLINE void stage_runs(const PackedArgs& a, const TileTable<kUnit>& t, std::uint8_t* HWY_RESTRICT stage,
                           const std::uint8_t* HWY_RESTRICT src) {
  for (std::int64_t r = 0; r < t.src_runs(); ++r, stage += t.stage_run_bytes()) {
    const std::uint8_t* from = src + t.src_offset(r);
    if (a.cast_run == nullptr)
      copy_bytes(stage, from, static_cast<std::size_t>(t.src_run_bytes()));
    else
      a.cast_run(stage, from, static_cast<std::size_t>(t.src_run_bytes() / a.src_unit));
  }
}

/// True when the tile whose src begins at byte `at` is a stage as it lies there.
template <std::size_t kUnit>
HWY_INLINE bool may_read_in_place(const PackedArgs& a, const TileTable<kUnit>& t, std::int64_t at) {
  return a.near && a.cast_run == nullptr && t.src_runs() == 1 && at + t.src_offset(0) + t.read_bytes() <= a.src_end;
}

/// Writes a tile's runs piece by piece. made(unit, n): where n units of dst lie, from number `unit` of the tile on.
/// fetched: units of them for which source was prefetched before; where it was for all of them, runs are one piece.
template <std::size_t kUnit, class Made>
HWY_INLINE void leave_in_pieces(const TileTable<kUnit>& t, std::uint8_t* dst, RunWriters& writers,
                                RunPrefetcher& prefetcher, std::int64_t fetched, const Made& made) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  const std::int64_t piece = fetched < t.units() ? kPieceBytes / kUnitBytes : t.dst_run();
  for (std::int64_t r = 0; r < t.dst_runs(); ++r) {
    std::uint8_t* to = dst + t.dst_offset(r);
    for (std::int64_t u = 0; u < t.dst_run(); u += piece) {
      const std::int64_t n = std::min(piece, t.dst_run() - u);
      prefetcher.units_left(std::clamp<std::int64_t>(n - fetched, 0, n));
      fetched -= n;
      const std::uint8_t* from = made(r * t.dst_run() + u, n);
      writers.write(r, to + u * kUnitBytes, from, static_cast<std::size_t>(n * kUnitBytes));
    }
  }
}

/// Transposes a tile's planes and writes them: where they lie one behind the other in dst, line by line as they are
/// transposed.
template <std::size_t kUnit>
HWY_INLINE void leave_planes(const PackedArgs& a, const TileTable<kUnit>& t, std::uint8_t* tile,
                             const std::uint8_t* stage, std::uint8_t* leaving, RunWriters& writers, PieceWriter& pieces,
                             RunPrefetcher& prefetcher) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  Plane plane = t.plane();
  std::uint8_t* run = tile + t.dst_offset(0);
  const bool in_order = t.planes_in_order();
  plane.stream = t.streams_planes() && reinterpret_cast<std::uintptr_t>(run) % kLine == 0;
  // What leaves through the caches is transposed where it belongs, but for the end, behind which vectors would write.
  const std::int64_t plane_bytes = plane.rows * plane.cols * kUnitBytes;
  const std::int64_t in_place = plane.stream            ? t.planes()
                                : in_order && !a.stream ? t.planes() - ceil_div(std::int64_t{kLine}, plane_bytes)
                                                        : 0;
  const bool by_piece = in_order && a.stream;
  std::int64_t fetched = 0;                                                     // units
  const std::int64_t left = std::max<std::int64_t>(in_place, 0) * plane_bytes;  // bytes of the tile
  const std::int64_t slice = t.slice_cols();
  for (std::int64_t i = 0; i < t.planes(); i += plane.count) {
    const std::uint8_t* from = stage + t.plane_from(i);
    plane.count = std::min(t.slice_planes(i), (i < in_place ? in_place : t.planes()) - i);
    for (std::int64_t c = 0; c < t.plane().cols; c += slice) {
      const std::int64_t at = t.plane_to(i) + c * plane.to_pitch;
      plane.from = from + c * kUnitBytes;
      plane.to = i < in_place ? run + at : by_piece ? pieces.place(run + at) : leaving + at - left;
      plane.cols = std::min(slice, t.plane().cols - c);
      const std::int64_t units = plane.rows * plane.cols * plane.count;
      const std::int64_t fetch = prefetcher.straight() ? units : std::min(units, kMostPrefetchBytes / kUnitBytes);
      prefetcher.units_left(fetch);
      fetched += fetch;
      t.move(plane);
      if (by_piece && i >= in_place) pieces.made(static_cast<std::size_t>(units * kUnitBytes));
    }
  }
  if (by_piece) return;
  if (in_order) {
    const std::int64_t rest = t.units() * kUnitBytes - left;
    if (rest > 0) writers.write(0, run + left, leaving, static_cast<std::size_t>(rest));
  } else {
    leave_in_pieces(t, tile, writers, prefetcher, fetched, [&](std::int64_t unit, std::int64_t) RESTRIDE_INLINE_LAMBDA {
      return leaving + unit * kUnitBytes;
    });
  }
}

/// Moves a tile of repeats. Past the caches it leaves piece by piece: a piece is put together as its lines lie in dst,
/// so that whole lines leave, while the core goes on with the next one.
HWY_INLINE void leave_repeats(const PackedArgs& a, const VectorRepeats& repeats, std::uint8_t* HWY_RESTRICT to,
                              const std::uint8_t* HWY_RESTRICT from, std::int64_t n, bool far, PieceWriter& pieces,
                              RunPrefetcher& prefetcher) {
  if (!a.stream) return move_repeats(repeats, from, to, n, n);
  const std::int64_t piece = VectorRepeats::piece_bytes(repeats.bytes);
  for (std::int64_t i = 0; i < n; i += piece) {
    const std::int64_t bytes = std::min(piece, n - i);
    if (far)
      for (std::int64_t k = 0; k < bytes; k += static_cast<std::int64_t>(kLine))
        prefetch_to_l2(from + i + kRepeatsAheadBytes + k);
    else
      prefetcher.units_left(bytes / a.src_unit);
    move_repeats(repeats, from + i, pieces.place(to + i), bytes, n - i);
    pieces.made(static_cast<std::size_t>(bytes));
  }
}

/// True when the next tile goes on with every run of dst.
bool runs_go_on(const PackedArgs& a) {
  std::int64_t run_bytes = a.dst_unit;
  for (int m = 0; m < a.packed.dst_run_modes; ++m) run_bytes *= a.packed.modes[m].block;
  return a.nest.rank() > 0 && a.nest[0].dst_stride == run_bytes;
}

template <std::size_t kUnit>
void packed(const PackedArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
            std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  // Tiles of planes leave from a buffer of their size, the others piece by piece.
  constexpr std::int64_t kOutBytes =
      kUnit <= kWidestPlaneUnit ? kPackedBytes : std::max(kPieceBytes, VectorRepeats::kMostPieceBytes);
  alignas(64) std::uint8_t staged[kStageBytes];
  alignas(kPage) std::uint8_t leaving[kOutBytes + 128];
  // Whole tiles, and those that a mode's end cuts short, come in turn: a table for the last two shapes.
  TileTable<kUnit> tables[2];
  int last = 0;
  RunWriters writers(a.stream, runs_go_on(a));
  PieceWriter pieces(leaving);
  NestCursor at(a.nest, begin);
  RunPrefetcher prefetcher(a, a.nest, src, begin, end);
  for (std::int64_t task = begin; task < end; ++task, at.next()) {
    const auto points = TileTable<kUnit>::points_at(a, at);
    if (!tables[last].is_for(points)) {
      pieces.leave();  // tiles of the other shape may use the buffer otherwise
      last = 1 - last;
      if (!tables[last].is_for(points)) tables[last].build(a, points);
    }
    const TileTable<kUnit>& t = tables[last];
    std::uint8_t* tile = dst + at.dst();
    if constexpr (kRepeats) {
      if (t.repeats().bytes != 0) {
        const std::int64_t bytes = t.src_run_bytes();
        const bool far = reads_far_ahead(a, bytes);
        if (a.stream && !far) prefetcher.enter(1, t.src_offsets(), bytes, task, src + at.src());
        leave_repeats(a, t.repeats(), tile + t.dst_offset(0), src + at.src() + t.src_offset(0), bytes, far, pieces,
                      prefetcher);
        continue;
      }
    }
    const std::uint8_t* stage = staged;
    if (may_read_in_place(a, t, at.src()))
      stage = src + at.src() + t.src_offset(0);
    else
      stage_runs(a, t, staged, src + at.src());
    prefetcher.enter(t.src_runs(), t.src_offsets(), t.src_run_bytes(), task, src + at.src(), t.reach());
    if constexpr (kUnit <= kWidestPlaneUnit) {
      if (t.by_planes()) {
        leave_planes(a, t, tile, stage, leaving, writers, pieces, prefetcher);
        continue;
      }
    }
    if constexpr (kPermutes<kUnit>) {
      if (t.shuffled()) {
        using Steps = Shuffles<kUnit>;
        std::int64_t step = 0;  // pieces come in order, and are whole steps
        leave_in_pieces(t, tile, writers, prefetcher, 0, [&](std::int64_t, std::int64_t n) RESTRIDE_INLINE_LAMBDA {
          const std::int64_t steps = ceil_div(n, Steps::kLanes);
          t.shuffles().take(step, steps, stage, leaving);
          step += steps;
          return leaving;
        });
        continue;
      }
    }
    leave_in_pieces(t, tile, writers, prefetcher, 0, [&](std::int64_t unit, std::int64_t n) RESTRIDE_INLINE_LAMBDA {
      pick_by_table<kUnit>(leaving, stage, t.table() + unit, n);
      return leaving;
    });
  }
  pieces.leave();
  writers.leave();
  if (a.stream) hwy::FlushStream();
}

}  // namespace

bool has_repeats() { return kRepeats; }

KernelCode<PackedArgs> pick_packed(int dst_unit) {
  switch (dst_unit) {
    case 1: return packed<1>;
    case 2: return packed<2>;
    case 4: return packed<4>;
    case 8: return packed<8>;
    default: return packed<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_packed);
HWY_EXPORT(has_repeats);
bool permutes_repeats() noexcept { return HWY_DYNAMIC_DISPATCH(has_repeats)(); }
KernelCode<PackedArgs> packed_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_packed)(dst_unit); }
}  // namespace restride::cpu
#endif
