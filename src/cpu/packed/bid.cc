// The family packed: its bid.
#include "src/cpu/packed/ways.h"

#include <bitset>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/bid.h"
#include "src/cpu/cached_costs.h"
#include "src/cpu/packed/inside.h"
#include "src/cpu/packed/kernel.h"
#include "src/cpu/packed/prepare.h"
#include "src/cpu/packed/sets.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// Bytes between the points of each mode in the stage: source runs one behind the other.
using Strides = detail::FixedVector<std::int64_t, layout::kMaxCopyModes>;
Strides stage_strides(const Canonical& c, const PackedSets& s) {
  Strides strides;
  strides.resize(c.modes.size(), 0);
  const auto staged = [&](std::int64_t src_bytes) { return src_bytes * c.dst_unit / c.src_unit; };
  for (std::uint8_t m : s.src_run) strides[m] = staged(static_cast<std::int64_t>(magnitude(c.modes[m].src_stride)));
  std::int64_t next = staged(s.src_run_bytes);
  for (std::uint8_t m : layout::modes_by_src_stride(c)) {
    if (s.points[m] == 1 || s.in_src_run(m)) continue;
    strides[m] = next;
    next *= s.points[m];
  }
  return strides;
}

/// Windows of the stage, a line each, that the units of one vector of dst come from: the mean of the first two.
double windows(const Canonical& c, const PackedSets& s, const Strides& strides) {
  constexpr std::int64_t kWindows = kPackedBytes / kLineBytes;  // of a stage
  const std::int64_t lanes = kLineBytes / c.dst_unit;
  std::int64_t at[layout::kMaxCopyModes] = {};
  std::int64_t offset = 0;
  int found = 0;
  for (int vector = 0; vector < 2; ++vector) {
    std::bitset<kWindows> seen;
    for (std::int64_t i = 0; i < lanes; ++i) {
      const auto window = static_cast<std::size_t>(offset / kLineBytes % kWindows);
      found += seen[window] ? 0 : 1;
      seen[window] = true;
      for (std::size_t m = 0; m < c.modes.size(); ++m) {
        offset += strides[m];
        if (++at[m] < s.points[m]) break;
        offset -= strides[m] * at[m];
        at[m] = 0;
      }
    }
  }
  return found / 2.0;
}

/// Modes of which the last tile has less than the others.
int uneven_cuts(const Canonical& c, const PackedSets& s) {
  int uneven = 0;
  for (std::size_t i = 0; i < c.modes.size(); ++i) uneven += c.modes[i].extent % s.points[i] != 0 ? 1 : 0;
  return uneven;
}

/// How often a tile is laid out anew, and its table made: once, as long as there are two shapes of tiles. Of more, each
/// time that the second mode that is cut unevenly comes to its end and starts again.
double times_laid_out(const Canonical& c, const PackedSets& s) {
  double tiles = static_cast<double>(c.units) / static_cast<double>(s.units);
  int uneven = 0;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    tiles /= static_cast<double>(ceil_div(c.modes[i].extent, s.points[i]));
    if (c.modes[i].extent % s.points[i] != 0 && ++uneven == 2) return std::max(kSizes.packed_shapes * tiles, 1.0);
  }
  return 1;
}

/// Bytes of what tiles repeat, where vectors permute repeats; else 0.
std::int64_t permuted_repeat(const Canonical& c, const PackedSets& s, const CpuMachine& m) {
  const bool dense =
      s.units == s.dst_run_units && s.units == s.src_run_units && s.src_run_bytes == s.units * c.src_unit;
  if (c.cast || !dense || !m.permutes(1)) return 0;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (s.points[i] > 1 && (c.modes[i].src_stride < 0 || c.modes[i].dst_stride < 0)) return 0;
  const Strides strides = stage_strides(c, s);
  const auto of = [](const auto& list) { return [&list](int m) { return list[static_cast<std::size_t>(m)]; }; };
  const Repeat repeat = repeat_of(s.units * c.dst_unit, static_cast<int>(c.modes.size()), of(s.points), of(strides));
  return repeat.bytes <= VectorRepeats::kMostBytes ? repeat.bytes : 0;
}

/// True where the next tile of repeats goes on in src, and so on for long: the first mode that is not all in a tile
/// says.
bool repeats_go_on_far(const Canonical& c, const PackedSets& s) {
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (s.points[m] < c.modes[m].extent)
      return goes_on_far(ceil_div(c.modes[m].extent, s.points[m]), c.modes[m].src_stride * s.points[m],
                         s.src_run_bytes);
  return false;
}

/// The time of a copy whose tiles repeat so many bytes, which vectors permute.
double repeats_ns(const Canonical& c, const CpuMachine& m, std::int64_t repeat) {
  const int vectors = VectorRepeats::vectors_at_once(repeat);
  const double all = static_cast<double>(vectors) * static_cast<double>(c.dst_bytes()) /
                     static_cast<double>(VectorRepeats::bytes_at_once(repeat));
  const double found = kRepeatCosts.start + kRepeatCosts.unit * static_cast<double>(repeat / c.dst_unit);
  return m.unit_ns * (found + all * (vectors > 2 ? kRepeatCosts.far_vector : kRepeatCosts.vector));
}

/// How a tile is permuted, and what a unit of it takes.
struct Way {
  double unit_ns;
  bool planes;
};

Way cheapest_way(const Canonical& c, const PackedSets& s, const CpuMachine& m, bool stream) {
  const std::int64_t unit = c.dst_unit;
  Way way{unit >= 4 ? m.pick_unit_ns * static_cast<double>(unit) / 4 : m.pick_unit_ns, false};
  if (unit <= 2 && s.planes && m.packed_cycle_ns == 0)
    return {m.packed_least_byte_ns * static_cast<double>(unit), true};
  if (unit > 8 || m.packed_cycle_ns == 0) return way;
  if (s.planes) {
    const std::int64_t rows = s.points[0];
    const std::int64_t cols = s.points[s.src_run.front()];
    const std::int64_t from_pitch = stage_strides(c, s)[0];
    std::int64_t to_pitch = unit;
    for (std::uint8_t i = 0; i < s.src_run.front(); ++i) to_pitch *= s.points[i];
    const std::int64_t lanes = kLineBytes / unit;
    const bool records =
        splits_records(unit, rows, cols, from_pitch, lanes) || joins_records(unit, rows, cols, to_pitch, lanes);
    const std::int64_t vector_bytes = plane_vector_bytes(unit, rows);
    // Columns of less than a vector spill into the next one, where that is next in dst.
    const bool spill = rows * unit >= vector_bytes || to_pitch == rows * unit;
    double cycles = (records ? records_cycles(unit, rows, cols) : plane_cycles(unit, rows, cols, vector_bytes, spill)) +
                    (s.units == rows * cols ? one_plane_cycles(rows * cols * unit) : 0);
    if (m.permutes(unit) && s.units == s.dst_run_units) {
      const Grouping grouping = grouping_of(unit, rows, cols, from_pitch, to_pitch);
      // Its first columns want all of a plane in the first cache, besides what leaves and what was prefetched.
      const bool roomy = rows * cols * unit <= kMostNearPlane;
      if (grouping.cells != 0)
        cycles = std::min(
            cycles, kPackedCycles.group_shown * grouping.cycles + (roomy ? 0 : one_plane_cycles(rows * cols * unit)));
    }
    const double ns = m.packed_cycle_ns * cycles / static_cast<double>(rows * cols);
    if (ns < way.unit_ns) way = {ns, true};
  }
  const std::int64_t lanes = kLineBytes / unit;
  if (stream && s.planes && m.permutes(unit) && s.dst_run_units >= lanes && uneven_cuts(c, s) <= 1) {
    const double pairs = std::max(windows(c, s, stage_strides(c, s)) / 2, 1.0);
    const bool alike = lanes % s.points[0] == 0 || s.points[0] % lanes == 0;
    const double ns = std::max(m.packed_cycle_ns * step_cycles(pairs, alike) / static_cast<double>(lanes),
                               m.packed_least_byte_ns * static_cast<double>(unit));
    if (pairs <= (unit <= 2 ? kSizes.packed_pairs_small : kSizes.packed_pairs) && ns < way.unit_ns) way = {ns, false};
  }
  return way;
}

/// ns past the caches for planes whose columns are stored in parts of two lines, and for large ones.
double plane_stores_ns(const Canonical& c, const PackedSets& s, const CpuMachine& m) {
  if (!s.planes) return 0;
  const std::int64_t column = s.points[0] * c.dst_unit;
  double line_ns = 0;
  if (column % plane_vector_bytes(c.dst_unit, s.points[0]) != 0)
    line_ns += m.packed_split_line_ns * (column % (kLineBytes / 2) == 0 ? m.packed_split_half : 1);
  const std::int64_t units = s.points[0] * s.points[s.src_run.front()];
  if (column % kLineBytes != 0 && units > m.packed_large_plane_units && units * c.dst_unit > kPageBytes)
    line_ns += m.packed_large_plane_line_ns;
  return line_ns * static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
}

/// Makes `bid` the one with runs that aim for `run` bytes in dst and `read` in src, which make these sets.
void offer(const Canonical& c, const CpuMachine& m, const PackedSets& sets, std::int64_t run, std::int64_t read,
           Bid* bid) {
  Bid& k = *bid;
  k.applies = true;
  k.params.clear();
  k.params.push_back({ParamId::kRunBytes, run});
  k.params.push_back({ParamId::kReadBytes, read});
  k.params.push_back({ParamId::kWay, static_cast<std::int64_t>(PackedWay::kByShape)});
  const std::int64_t repeat = permuted_repeat(c, sets, m);
  push_stream_and_near(
      &k, c, m, Writes::kRuns,
      m.near_one_run && (sets.src_run_units < sets.units || (repeat != 0 && repeats_go_on_far(c, sets))));
  // Runs in src may have gaps, which are read along; the last one may be shorter.
  const std::int64_t src_bytes =
      saturated_add(saturated_mul(c.units / sets.src_run_units, sets.src_run_bytes),
                    ceil_div(c.units % sets.src_run_units * sets.src_run_bytes, sets.src_run_units));
  k.read_lines = lines_for_runs(src_bytes, sets.src_run_bytes, m.line_bytes);
  k.written_lines = lines_for_runs(c.dst_bytes(), sets.dst_run_units * c.dst_unit, m.line_bytes);
  if (repeat != 0) {
    const bool stream = k.get(ParamId::kStream) != 0;
    return set_time(bid, stream ? stream_ns(k, m) : 0, 0,
                    repeats_ns(c, m, repeat) * (stream ? kSizes.packed_streamed_repeats : 1));
  }
  const double tiles = static_cast<double>(c.units) / static_cast<double>(sets.units);
  const Way way = cheapest_way(c, sets, m, k.get(ParamId::kStream) != 0);
  // Large copies look for shuffles in the table as well; where planes are transposed there is none.
  const double table_ns =
      way.planes
          ? m.packed_relaid_ns
          : static_cast<double>(sets.units) *
                (k.get(ParamId::kStream) != 0 ? m.packed_streamed_table_units : m.packed_table_units) * m.unit_ns;
  double pages = 1;
  if (std::max(sets.src_run_units, sets.dst_run_units) < sets.units)
    pages = m.packed_pages + m.packed_short_run_pages *
                                 std::min(1.0, m.packed_short_run_bytes / static_cast<double>(sets.src_run_bytes));
  if (way.planes && sets.units / sets.dst_run_units >= m.packed_many_runs_from)
    pages *= m.packed_many_runs;  // planes leave run by run
  const std::int64_t runs = sets.units / sets.src_run_units + sets.units / sets.dst_run_units;
  const double times = times_laid_out(c, sets);
  // Of planes, the first layout of a call counts in the caches only: past them it is a small part.
  const double first_ns = !way.planes ? table_ns : stays_in_caches(c, m) ? kCachedPlanesNs : 0;
  const double tables_ns = table_ns * (times - 1) + first_ns;
  set_time(bid, stream_ns(k, m) * pages, m.packed_start_ns + tiles * row_ns(c, m) * static_cast<double>(runs),
           static_cast<double>(c.units) * (way.unit_ns + cast_ns(c, m, sets.src_run_units)) + tables_ns);
}

}  // namespace

double moved_plane_cycles(std::int64_t unit, std::int64_t rows, std::int64_t cols, std::int64_t from_pitch,
                          std::int64_t to_pitch, std::int64_t longest, std::int64_t lanes) {
  if (splits_records(unit, rows, cols, from_pitch, lanes) || joins_records(unit, rows, cols, to_pitch, lanes))
    return records_cycles(unit, rows, cols);
  const std::int64_t vector_bytes = plane_vector_bytes(unit, rows) >= longest ? longest : kLeastVectorBytes;
  return plane_cycles(unit, rows, cols, vector_bytes, rows * unit >= vector_bytes || to_pitch == rows * unit);
}

void bid_packed(const Question& q, Bid* bid) {
  const Canonical& c = q.c;
  const CpuMachine& m = q.machine;
  PackedSets sets;
  std::int64_t run = kPackedRunBytes;
  const std::int64_t max_units = most_packed_units(c);
  while (run >= kSizes.packed_least_run_bytes && !packed_sets(c, run, run, max_units, kPackedModes, &sets)) run /= 2;
  if (run < kSizes.packed_least_run_bytes) {
    bid->reason = "no set of modes makes dense runs on both sides within a tile";
    return;
  }
  Bid& best = *bid;
  PackedSets best_sets = sets;
  offer(c, m, sets, run, run, &best);
  const int uneven = uneven_cuts(c, sets);
  const bool one_run = sets.units == sets.dst_run_units;
  for (std::int64_t read = 2 * run; !one_run && read <= kPackedRunBytes; read *= 2) {
    if (!packed_sets(c, run, read, max_units, kPackedModes, &sets) || uneven_cuts(c, sets) > uneven) break;
    Bid longer;
    offer(c, m, sets, run, read, &longer);
    if (longer.predicted.time_ns >= best.predicted.time_ns) continue;
    best = longer;
    best_sets = sets;
  }
  if (best.get(ParamId::kStream) != 0) best.predicted.time_ns += plane_stores_ns(c, best_sets, m);
}

}  // namespace restride::cpu
