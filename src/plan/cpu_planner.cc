#include "src/plan/cpu_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/checked.h"
#include "src/plan/cpu_sets.h"

namespace restride::plan {
namespace {

using layout::Canonical;
using layout::CopyMode;

/// Lines a side touches when it walks runs of `run_bytes` that follow each other at random alignment.
std::int64_t lines_for_runs(std::int64_t bytes, std::int64_t run_bytes, std::int64_t line) {
  if (run_bytes >= bytes) return bytes / line + 1;
  const std::int64_t runs = bytes / std::max<std::int64_t>(run_bytes, 1);
  const std::int64_t lines_per_run = run_bytes / line + (run_bytes % line != 0 ? 2 : 0);
  return runs * std::min<std::int64_t>(lines_per_run, run_bytes);
}

/// Contiguous bytes a side's innermost chain of modes covers.
std::int64_t run_bytes(const Canonical& c, bool dst_side) {
  const auto stride = [&](const CopyMode& m) { return dst_side ? m.dst_stride : m.src_stride; };
  std::int64_t run = dst_side ? c.dst_unit : c.src_unit;
  for (bool grew = true; grew;) {
    grew = false;
    for (const CopyMode& m : c.modes)
      if (m.extent > 1 && static_cast<std::int64_t>(magnitude(stride(m))) == run && run <= INT64_MAX / m.extent) {
        run *= m.extent;
        grew = true;
        break;
      }
  }
  return run;
}

Candidate base_bid(Family family, const Canonical& c, const CpuMachine& m) {
  Candidate k;
  k.family = family;
  k.predicted.read_bytes = c.src_bytes();
  k.predicted.written_bytes = c.dst_bytes();
  if (!c.two_sided) {
    k.predicted.read_sectors = lines_for_runs(c.src_bytes(), run_bytes(c, false), m.line_bytes);
    k.predicted.written_sectors = lines_for_runs(c.dst_bytes(), run_bytes(c, true), m.line_bytes);
  }
  return k;
}

double stream_ns(const Candidate& k, const CpuMachine& m) {
  const double sectors =
      static_cast<double>(k.predicted.read_sectors) + static_cast<double>(k.predicted.written_sectors);
  return sectors * static_cast<double>(m.line_bytes) / m.stream_bytes_per_ns;
}

Candidate bid_run(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kRun, c, m);
  const bool one_run =
      !c.two_sided && (c.modes.empty() || (c.modes.size() == 1 && c.modes[0].dst_stride == c.dst_unit &&
                                           c.modes[0].src_stride == c.src_unit));
  if (!one_run) {
    k.reason = "the copy is not one run contiguous on both sides";
    return k;
  }
  k.applies = true;
  k.predicted.time_ns = stream_ns(k, m);
  k.params.push_back({ParamId::kStream, c.dst_bytes() >= m.stream_from_bytes ? 1 : 0});
  return k;
}

/// True when every column of dst starts on a line, the buffer itself willing.
bool columns_on_lines(const Canonical& c) {
  return std::all_of(c.modes.begin(), c.modes.end(), [&](const CopyMode& m) {
    return static_cast<std::int64_t>(magnitude(m.dst_stride)) == c.dst_unit || m.dst_stride % 64 == 0;
  });
}

/// Tasks that a copy of any size is cut into at least, once it is large enough for threads.
constexpr std::int64_t kTasksToShare = 16;

/// Rows and columns of one tile: two lines of every column (one where a line has 64 rows) and 512 bytes of every row,
/// evenly cut; and the band it walks across. A band is wide for the source, whose rows should be read on and on, and
/// narrow for the destination, each of whose columns is a page of its own: about a thousand of them stay in the TLB.
/// Where columns start inside lines, what each carries from tile to tile should stay in the first cache, too; where a
/// cast narrows, reading counts for more. Measured on a Xeon with 4 KiB pages; see bench/results.
void tile_shape(const Canonical& c, const TileSets& sets, Candidate* k) {
  const std::int64_t unit = c.dst_unit;
  const std::int64_t wider = std::max(c.dst_unit, c.src_unit);
  std::int64_t cols = std::clamp<std::int64_t>(512 / wider, 16, wider == 1 ? 256 : 128);
  if (sets.cols.points > cols) {
    const std::int64_t blocks = (sets.cols.points + cols - 1) / cols;
    const std::int64_t step = std::max<std::int64_t>(64 / unit, 1);
    cols = ((sets.cols.points + blocks - 1) / blocks + step - 1) / step * step;
  } else {
    cols = sets.cols.points;
  }
  std::int64_t rows = (unit == 1 ? 64 : 128) / unit;
  rows = std::min(rows, sets.rows.points);
  std::int64_t chunk = sets.rows.points <= 8192 ? sets.rows.points : 4096 / rows * rows;
  std::int64_t widest = std::min<std::int64_t>(1024 * std::max(1, c.src_unit / c.dst_unit), 2048);
  if (unit >= 4) widest = std::min(widest, columns_on_lines(c) ? 4096 / unit : 2048 / unit);
  const std::int64_t band = sets.cols.points > cols ? cols * std::max<std::int64_t>(1, widest / cols) : cols;
  // Threads share tasks: a copy worth several threads is cut into some, down the rows, where bands alone give too few.
  const std::int64_t bands = (sets.cols.points + band - 1) / band * (c.units / (sets.rows.points * sets.cols.points));
  if (bands < kTasksToShare && c.dst_bytes() >= kBytesPerThread) {
    const std::int64_t pieces = (kTasksToShare + bands - 1) / bands;
    const std::int64_t piece = ((sets.rows.points + pieces - 1) / pieces + rows - 1) / rows * rows;
    chunk = std::min(chunk, std::max(piece, 4 * rows));
  }
  k->params.push_back({ParamId::kTileRows, rows});
  k->params.push_back({ParamId::kTileCols, cols});
  k->params.push_back({ParamId::kBandCols, band});
  k->params.push_back({ParamId::kBlockUnits, chunk});
}

Candidate bid_tile(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kTile, c, m);
  TileSets sets;
  if (!tile_sets(c, kTileRowBytes, kTileColBytes, &sets)) {
    k.reason = c.two_sided ? "the shapes have no common refinement"
                           : "the sides share their fast mode, or one has no dense mode";
    return k;
  }
  k.applies = true;
  tile_shape(c, sets, &k);
  k.params.push_back({ParamId::kStream, c.dst_bytes() >= m.stream_from_bytes ? 1 : 0});
  const double unit = c.dst_unit;
  const auto padded = [](double n, double step) { return std::ceil(n / step) * step / n; };
  const double waste = padded(static_cast<double>(sets.rows.points), std::max(1.0, 64 / unit)) *
                       padded(static_cast<double>(sets.cols.points), std::max(1.0, 16 / unit));
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  // A column that ends inside a line, with no row of its own to go on, writes two lines in part.
  const bool whole_lines = sets.rows.points * c.dst_unit % m.line_bytes == 0;
  const double ragged =
      whole_lines ? 0 : static_cast<double>(c.units) / static_cast<double>(sets.rows.points) * 5 * m.line_ns;
  // Every staged row, every column of a tile and every task cost their start.
  const double units = static_cast<double>(c.units);
  const double staged = units / static_cast<double>(std::min(sets.cols.points, k.get(ParamId::kTileCols)));
  const double columns = units / static_cast<double>(std::min(sets.rows.points, k.get(ParamId::kTileRows)));
  const double tasks =
      units / static_cast<double>(sets.rows.points * std::min(sets.cols.points, k.get(ParamId::kBandCols)));
  k.predicted.time_ns = std::max(stream_ns(k, m), lines * waste * m.shuffle_line_ns) + ragged + 0.3 * lines +
                        4 * staged + 4 * columns + 100 * tasks;
  return k;
}

Candidate bid_rows(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kRows, c, m);
  if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) {
    k.reason = "no mode is dense in dst";
    return k;
  }
  k.applies = true;
  k.params.push_back({ParamId::kStream, c.dst_bytes() >= m.stream_from_bytes ? 1 : 0});
  const double rows = static_cast<double>(c.units) / static_cast<double>(c.modes[0].extent);
  if (static_cast<std::int64_t>(magnitude(c.modes[0].src_stride)) >= m.line_bytes)
    k.predicted.read_sectors =
        std::max(k.predicted.read_sectors, c.units);  // each unit of a row from a line of its own
  k.predicted.time_ns = stream_ns(k, m) + rows * m.row_ns;
  if (c.modes[0].src_stride != c.src_unit) {
    const bool easy = c.modes[0].src_stride == 0 || c.modes[0].src_stride == -c.src_unit;
    k.predicted.time_ns += static_cast<double>(c.units) * (easy && !c.cast ? 0.05 * c.dst_unit : m.unit_ns);
  }
  return k;
}

Candidate bid_packed(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kPacked, c, m);
  PackedSets sets;
  std::int64_t run = kPackedRunBytes;
  const std::int64_t max_units = std::min<std::int64_t>(kPackedUnits, kPackedBytes / c.dst_unit);
  while (run >= 32 && !packed_sets(c, run, max_units, kPackedModes, &sets)) run /= 2;
  if (run < 32) {
    k.reason = "no set of modes makes dense runs on both sides within a tile";
    return k;
  }
  k.applies = true;
  k.params.push_back({ParamId::kRunBytes, run});
  k.params.push_back({ParamId::kStream, c.dst_bytes() >= m.stream_from_bytes ? 1 : 0});
  k.predicted.read_sectors = lines_for_runs(c.src_bytes(), sets.src_run_units * c.src_unit, m.line_bytes);
  k.predicted.written_sectors = lines_for_runs(c.dst_bytes(), sets.dst_run_units * c.dst_unit, m.line_bytes);
  const double tiles = static_cast<double>(c.units) / static_cast<double>(sets.units);
  // Picked by vector gathers, moved 16 bytes at a time, or woven a plane at a time.
  const double unit_ns = c.dst_unit >= 4 ? m.pick_unit_ns * (c.dst_unit >= 8 ? 2 : 1)
                         : sets.woven    ? 0.06 * c.dst_unit
                                         : m.pick_unit_ns;
  k.predicted.time_ns =
      stream_ns(k, m) + static_cast<double>(c.units) * unit_ns +
      static_cast<double>(sets.units) * 2 * m.unit_ns +  // the table, once
      tiles * m.row_ns * static_cast<double>(sets.units / sets.src_run_units + sets.units / sets.dst_run_units);
  return k;
}

Candidate bid_gather(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kGather, c, m);
  k.applies = true;
  if (c.two_sided) {
    k.predicted.read_sectors = k.predicted.written_sectors = c.units;
    k.reason = "the shapes have no common refinement, so each side is walked by itself";
  } else {
    k.reason = "right for every layout, one unit at a time";
  }
  const std::int64_t run =
      c.two_sided || c.modes.empty() ? 1 : c.modes[0].extent;  // units between two looks at the other modes
  k.predicted.time_ns =
      stream_ns(k, m) + static_cast<double>(c.units) * (m.unit_ns + 0.4 + m.row_ns / static_cast<double>(run));
  return k;
}

}  // namespace

Decision plan_cpu(const Canonical& c, const CpuMachine& machine, std::string_view forced) {
  Decision d;
  d.device = DeviceKind::kCpu;
  if (c.units == 0) {
    d.chosen.family = Family::kNoop;
    d.chosen.applies = true;
    d.chosen.reason = "nothing to copy";
    return d;
  }
  detail::FixedVector<Candidate, 12> bids;
  bids.push_back(bid_run(c, machine));
  bids.push_back(bid_rows(c, machine));
  bids.push_back(bid_packed(c, machine));
  bids.push_back(bid_tile(c, machine));
  bids.push_back(bid_gather(c, machine));

  std::size_t best = bids.size();
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (!bids[i].applies) continue;
    if (!forced.empty()) {
      if (name(bids[i].family) == forced) best = i;
    } else if (best == bids.size() || bids[i].predicted.time_ns < bids[best].predicted.time_ns) {
      best = i;
    }
  }
  if (best == bids.size()) {
    for (const Candidate& k : bids)
      if (name(k.family) == forced)
        throw ArgumentError(fmt::format("family '{}' does not apply to {}: {}; leave the choice to the planner", forced,
                                        layout::to_string(c), k.reason));
    throw ArgumentError(fmt::format("'{}' is no family; use run, rows, tile, packed or gather", forced));
  }
  d.chosen = bids[best];
  bids.erase(best);
  std::sort(bids.begin(), bids.end(), [](const Candidate& a, const Candidate& b) {
    if (a.applies != b.applies) return a.applies;
    return a.applies ? a.predicted.time_ns < b.predicted.time_ns : a.family < b.family;
  });
  for (const Candidate& k : bids) d.others.push_back(k);
  return d;
}

}  // namespace restride::plan
