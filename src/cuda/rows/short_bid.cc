// The bid of rows' kernel for short rows with gaps between them in dst, on CUDA, and its arguments.
#include <algorithm>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bid.h"
#include "src/cuda/rows/rows.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// The modes of the rows: which one is inside them (none where a row is one unit), which one counts them.
struct Rows {
  std::uint64_t mask = 0;  ///< both
  std::int64_t units = 1, inside = 0;
  CopyMode count;
};

/// mask 0 where no mode of dst counts rows that have a gap behind them.
Rows rows_of(const Canonical& c) {
  Rows r;
  if (c.modes.empty()) return r;
  const CopyMode& first = c.modes[0];
  if (first.dst_stride > c.dst_unit) {
    r.mask = 1;
    r.count = first;
  } else if (c.modes.size() > 1 && c.modes[1].dst_stride > first.extent * c.dst_unit) {
    r.mask = 3;
    r.units = first.extent;
    r.inside = first.src_stride;
    r.count = c.modes[1];
  }
  return r;
}

/// Units that a lane has: bytes of a row together where rows then lie in words of their own.
std::int64_t lane_units(const Canonical& c, const Rows& r) {
  return c.dst_unit == 1 && r.units <= 4 && r.count.dst_stride >= 4 ? r.units : 1;
}

/// A block's threads: whole rows, and few idle lanes in its last warp.
std::int64_t threads_of(std::int64_t lanes_of_row) {
  std::int64_t best = lanes_of_row;
  double least = 2;
  for (std::int64_t threads = lanes_of_row; threads <= kMostShortThreads; threads += lanes_of_row) {
    if (threads + lanes_of_row <= kSizes.short_least_threads) continue;
    const std::int64_t lanes = (threads + 31) / 32 * 32;
    const double idle = static_cast<double>(lanes - threads) / static_cast<double>(lanes);
    const double off =
        static_cast<double>(std::abs(threads - kSizes.short_best_threads)) / 2048;  // of equals, the nearest
    if (idle + off >= least) continue;
    least = idle + off;
    best = threads;
  }
  return best;
}

/// A block's share of an item of the walk.
struct RowsBlock {
  std::int64_t threads = 0, step_rows = 0, steps = 1, chunks = 0;
};
RowsBlock block_of(const Canonical& c, const Rows& r) {
  RowsBlock b;
  const std::int64_t units = lane_units(c, r), lanes = r.units / units;
  b.threads = threads_of(lanes);
  b.step_rows = b.threads / lanes;
  const std::int64_t steps = ceil_div(r.count.extent, b.step_rows);
  const std::int64_t most = c.dst_unit >= 4 || units > 1 ? kSizes.short_few_steps : kSizes.short_many_steps;
  b.steps = steps >= most ? most : steps >= kSizes.short_few_steps ? kSizes.short_few_steps : 1;
  b.chunks = ceil_div(steps, b.steps);
  return b;
}

/// Bytes of src in sectors that are touched.
std::int64_t touched_src(const Canonical& c, const Rows& r) {
  const std::int64_t rows = c.units / r.units, step = std::abs(r.count.src_stride), inside = std::abs(r.inside);
  if (r.units == 1 || step < inside) return saturated_mul(c.units, std::clamp<std::int64_t>(step, c.src_unit, 32));
  const std::int64_t span = inside * (r.units - 1) + c.src_unit;
  if (step <= span + 31) return saturated_mul(rows, std::max<std::int64_t>(step, 1));
  return saturated_mul(std::min(c.units, saturated_mul(rows, (span + 62) / 32)), 32);
}

/// The same of dst, and how many of them are written in part.
struct Written {
  std::int64_t sectors = 0, in_part = 0;
};
Written touched_dst(const Canonical& c, const Rows& r) {
  const std::int64_t rows = c.units / r.units, bytes = r.units * c.dst_unit, step = r.count.dst_stride;
  const std::int64_t aligned = row_alignment(c, r.mask == 3 ? 1 : 0);
  Written w;
  w.sectors = step <= bytes + 31 ? saturated_mul(rows, step) / 32 + 1 : sectors(rows, bytes, aligned);
  const bool whole = aligned % 32 == 0 && bytes % 32 == 0;
  w.in_part = whole ? 0 : std::min(w.sectors, 2 * rows);
  return w;
}

}  // namespace

void bid_short(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate& bid = bids[0];
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (c.cast) return refuse(bid, "short rows are moved, not converted");
  const Rows r = rows_of(c);
  if (r.mask == 0) return refuse(bid, "dst's rows have no gaps between them");
  if (r.units > kSizes.short_most_units) return refuse(bid, "rows are not short");
  std::int64_t items = 0;
  if (!outer_walk(c, r.mask, nullptr, &items)) return refuse(bid, "too many outer modes");
  const RowsBlock b = block_of(c, r);
  if (too_many(b.chunks, items)) return refuse(bid, "too many blocks");
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(r.mask)},
                {ParamId::kVectorBytes, c.dst_unit},
                {ParamId::kThreads, b.threads},
                {ParamId::kStages, b.steps},
                {ParamId::kBlocks, b.chunks * items}};
  const Written w = touched_dst(c, r);
  const double used = static_cast<double>(r.count.extent) / static_cast<double>(b.chunks * b.steps * b.step_rows);
  const std::int64_t read = touched_src(c, r) / 32 + w.in_part;
  // A warp's store of parts of sectors takes a multiprocessor as long as copying so many bytes, however few it holds.
  const Costs& costs = *request.machine.costs;
  const double stores = static_cast<double>(c.units) / static_cast<double>(lane_units(c, r) == 1 ? 32 : 16 * r.units);
  const double efficiency =
      std::min(costs.short_most, 32.0 * static_cast<double>(read + w.sectors) / (stores * costs.short_store_bytes));
  predict(bid, request.machine, read, w.sectors, efficiency * (costs.short_idle + (1 - costs.short_idle) * used));
}

void prepare_short(const Canonical& c, const Candidate&, CudaArgs& out) {
  const Rows r = rows_of(c);
  const RowsBlock b = block_of(c, r);
  auto& a = out.args.emplace<ShortRowsArgs>();
  std::int64_t items = 0;
  outer_walk(c, r.mask, &a.outer, &items);
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.dst_step = r.count.dst_stride;
  a.src_step = r.count.src_stride;
  a.src_inside = r.inside;
  a.rows = r.count.extent;
  a.lane_units = narrowed<std::int32_t>(lane_units(c, r));
  a.lanes = base::FastDiv(r.units / a.lane_units);
  a.chunks = base::FastDiv(b.chunks);
  a.threads = narrowed<std::int32_t>(b.threads);
  a.step_rows = narrowed<std::int32_t>(b.step_rows);
  a.steps = narrowed<std::int32_t>(b.steps);
  a.fetch_sectors = touched_dst(c, r).in_part != 0;
  a.blocks = narrowed<std::uint32_t>(b.chunks * items);
}

}  // namespace restride::cuda
