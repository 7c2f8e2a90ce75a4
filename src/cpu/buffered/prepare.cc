#include "src/cpu/buffered/prepare.h"

#include "src/base/checked.h"
#include "src/cpu/buffered/kernel.h"
#include "src/cpu/buffered/sets.h"
#include "src/cpu/costs.h"
#include "src/cpu/prepare.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// The order of blocks: a few along dst's runs, then a few along src's, before all others; so that lines and pages that
/// a block has a part of are used up while the caches and the TLB have them.
void order_blocks(const Canonical& c, const BufferedSets& sets, const int* place, BufferedArgs* a) {
  struct Walk {
    std::int64_t parts;     // not walked yet
    std::int64_t done = 1;  // parts that one step moves on by
    int entry = -1;
  };
  Walk walks[layout::kMaxCopyModes];
  BufferedBlock& b = a->block;
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    walks[m].parts = ceil_div(c.modes[m].extent, sets.points[m]);
    if (walks[m].parts == 1 || sets.points[m] == 1) continue;
    b.modes[place[m]].parts = walks[m].entry = b.walked_modes;
    b.walked[b.walked_modes++].count = walks[m].parts;
  }
  const auto push = [&](std::size_t m, std::int64_t parts) {
    const std::int64_t points = sets.points[m] * walks[m].done;
    if (walks[m].entry >= 0)
      (walks[m].done > 1 ? b.walked[walks[m].entry].outer : b.walked[walks[m].entry].inner) = a->nest.rank();
    a->nest.push({parts, c.modes[m].dst_stride * points, c.modes[m].src_stride * points});
  };
  const auto near = [&](const ModeSet& run, std::int64_t unit, int (*next)(const Canonical&, int)) {
    std::int64_t want = ceil_div(kSizes.buffered_near_bytes, run.points * unit);
    int m = run.modes.back();
    if (walks[m].parts == 1) m = next(c, m);
    for (; m >= 0 && want > 1; m = next(c, m)) {
      Walk& w = walks[m];
      if (w.done > 1) return;  // in steps already
      if (w.parts <= want + want / 2) {
        if (w.parts > 1) push(static_cast<std::size_t>(m), w.parts);
        want = ceil_div(want, w.parts);
        w.parts = 1;
        continue;
      }
      const std::int64_t step = ceil_div(w.parts, ceil_div(w.parts, want));
      if (w.entry < 0) {
        w.entry = b.walked_modes;
        b.walked[b.walked_modes++].count = w.parts;
      }
      push(static_cast<std::size_t>(m), step);
      b.walked[w.entry].step = step;
      w.parts = ceil_div(w.parts, step);
      w.done = step;
      return;
    }
  };
  near(sets.dst_run, c.dst_unit, next_in_dst);
  near(sets.src_run, c.src_unit, next_in_src);
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (walks[m].parts > 1) push(m, walks[m].parts);
}

/// Fills `block` and `nest`.
void fill_block(const Canonical& c, const BufferedSets& sets, BufferedArgs* a) {
  BufferedBlock& b = a->block;
  int place[layout::kMaxCopyModes];  // of a canonical mode among the block's
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    place[m] = b.rank;
    if (sets.points[m] > 1)
      b.modes[b.rank++] = {sets.points[m], c.modes[m].dst_stride, c.modes[m].src_stride, 0, c.modes[m].extent, -1};
  }
  order_blocks(c, sets, place, a);
  const auto list = [&](const ModeSet& set, BufferedBlock::List* out) {
    for (std::uint8_t m : set.modes) out->push(place[m]);
  };
  list(sets.rows, &b.rows);
  list(sets.cols, &b.cols);
  list(sets.dst_run, &b.dst_run);
  list(sets.src_run, &b.src_run);
  for (const bool cut : {false, true})
    for (std::size_t m = 0; m < c.modes.size(); ++m) {
      if (sets.points[m] == 1 || (sets.points[m] < c.modes[m].extent) != cut) continue;
      if (!sets.rows.has(m) && !sets.cols.has(m)) b.others.push(place[m]);
      if (!sets.dst_run.has(m)) b.dst_runs.push(place[m]);
      if (!sets.src_run.has(m)) b.src_runs.push(place[m]);
    }
  std::int64_t bytes = c.dst_unit;
  const auto lay_out = [&](const BufferedBlock::List& l, int i) {
    BlockMode& mode = b.modes[l.modes[i]];
    mode.out_stride = bytes;
    bytes *= mode.points;
  };
  for (int i = 0; i < b.dst_run.size; ++i) {
    lay_out(b.dst_run, i);
    if (i + 1 == b.rows.size && a->column_pitch != 0) bytes = a->column_pitch;
  }
  a->run_pitch = bytes;
  for (int i = 0; i < b.dst_runs.size; ++i) lay_out(b.dst_runs, i);
}

}  // namespace

BufferedArgs prepare_buffered(const Canonical& c, const plan::Candidate& k, int) {
  BufferedSets sets;
  const std::int64_t dst_bytes = k.get(plan::ParamId::kRunBytes);
  const std::int64_t src_bytes = k.get(plan::ParamId::kReadBytes);
  const std::int64_t write_bytes = k.get(plan::ParamId::kWriteBytes, BufferedArgs().write_bytes);
  const std::int64_t band_cols = k.get(plan::ParamId::kBandCols);
  const bool sane = (band_cols == 0 || (band_cols >= kLeastVectorBytes / c.dst_unit && band_cols <= kBufferedPoints)) &&
                    write_bytes >= 1 && write_bytes <= kBufferedBytes && dst_bytes >= 1 &&
                    dst_bytes <= kBufferedBytes && src_bytes >= 1 && src_bytes <= kBufferedBytes &&
                    buffered_sets(c, dst_bytes, src_bytes, &sets);
  if (!sane) refuse(k, c);
  BufferedArgs a;
  set_common(c, k, &a);
  if (const std::int64_t padded = k.get(plan::ParamId::kPadded); padded < 0 || padded > 1)
    refuse(k, c);
  else if (padded == 1 && a.stream)
    a.column_pitch = padded_column_pitch(c, sets);
  a.kernel = buffered_kernel();
  a.src_end = dense_end(c);
  a.write_bytes = write_bytes;
  a.band_cols = band_cols;
  fill_block(c, sets, &a);
  a.tasks = a.nest.points();
  return a;
}

}  // namespace restride::cpu
