// What packed/staged does: a tile's runs of src into the stage, or read in place, and its runs of dst out of it; or
// vector by vector, where these hold the small matrices of a batch.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "src/cpu/packed/inside.h"
#include "src/cpu/simd/tile_prefetch-inl.h"
#include "src/cpu/trace.h"

namespace restride::cpu {

namespace {

/// What is prefetched while the tile is moved.
void trace_ahead(const PackedArgs& a, const TraceBase& on, const TileRuns& runs, bool repeats) {
  plan::Trace& t = on.t;
  const std::int64_t step = a.nest.rank() > 0 ? a.nest[0].src_stride : 0;
  if (repeats && reads_far_ahead(a, runs.src_run_bytes())) {
    t.ahead_is = "src goes on from tile to tile, and is prefetched " + std::to_string(kRepeatsAheadBytes >> 10) +
                 " KiB ahead, into the second cache";
    return;
  }
  // Tiles that follow each other as one run are prefetched some KiB ahead instead.
  if (a.near && runs.src_runs() == 1 && step == runs.src_run_bytes()) {
    t.ahead_is = "src goes on from tile to tile, and is prefetched some KiB ahead, into the first cache";
    return;
  }
  std::vector<std::int64_t> tiles;
  const std::int64_t group = std::max<std::int64_t>(HWY_NAMESPACE::RunPrefetcher::kStreams / runs.src_runs(), 1);
  NestCursor next(a.nest, t.piece);
  for (std::int64_t n = t.piece + 1; n < std::min(t.piece + 1 + group, a.tasks); ++n) {
    next.next();
    tiles.push_back(on.src + next.src());
  }
  on.prefetch_runs(tiles, runs.src_offsets(), runs.src_runs(), runs.src_run_bytes(), a.near);
}

}  // namespace

void trace_kernel(const PackedArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  on.set_pieces(a.tasks);
  t.vector_bytes = store_vector_bytes();
  const NestCursor at(a.nest, t.piece);
  const auto runs = std::make_unique<TileRuns>();
  runs->lay_out(a, TileRuns::points_at(a, at));
  if (const VectorRepeats& v = runs->repeats(); v.bytes != 0 && permutes_repeats()) {
    const std::int64_t from = on.src + at.src() + runs->src_offset(0), to = on.dst + at.dst() + runs->dst_offset(0);
    const std::int64_t piece = a.stream ? VectorRepeats::piece_bytes(v.bytes) : v.bytes;
    for (std::int64_t i = 0; i < runs->src_run_bytes(); i += piece) {
      const auto number = static_cast<std::int32_t>(i / piece);
      const std::int64_t n = std::min(piece, runs->src_run_bytes() - i);
      t.load(number, number, from + i, n);
      t.store(number, number, to + i, n);
      for (std::int64_t b = 0; b < n; b += a.dst_unit)
        t.unit(number, to + i + b, from + i + b / v.bytes * v.bytes + v.source(b % v.bytes));
    }
    if (a.stream) trace_ahead(a, on, *runs, true);
    return;
  }
  for (std::int64_t r = 0; r < runs->src_runs(); ++r) {
    const auto number = static_cast<std::int32_t>(r);
    const std::int64_t from = on.src + at.src() + runs->src_offset(r), stage = r * runs->stage_run_bytes();
    t.load(number, number, from, runs->src_run_bytes());
    t.accesses.push_back(
        {plan::Space::kStage, true, number, number, stage, static_cast<std::int32_t>(runs->stage_run_bytes())});
    for (std::int64_t b = 0; b + a.dst_unit <= runs->stage_run_bytes(); b += a.dst_unit)
      t.remember(stage + b, a.dst_unit, from + b / a.dst_unit * a.src_unit, number);
  }
  std::vector<std::int32_t> places(static_cast<std::size_t>(runs->units()));
  runs->place_units(a.packed, places.data());
  for (std::int64_t r = 0; r < runs->dst_runs(); ++r) {
    const std::int64_t to = on.dst + at.dst() + runs->dst_offset(r);
    const auto number = static_cast<std::int32_t>(r);
    t.store(number, number, to, runs->dst_run() * a.dst_unit);
    for (std::int64_t u = 0; u < runs->dst_run(); ++u)
      t.unit_staged(number, to + u * a.dst_unit, places[static_cast<std::size_t>(r * runs->dst_run() + u)]);
  }
  trace_ahead(a, on, *runs, false);
}

}  // namespace restride::cpu
