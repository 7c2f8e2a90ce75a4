// The bid of the family buffered.
#include "src/cpu/bid.h"

#include <algorithm>
#include <cmath>

#include "src/base/checked.h"
#include "src/cpu/buffered/prepare.h"
#include "src/cpu/buffered/sets.h"
#include "src/cpu/cached_costs.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// What src and dst are to be long of each.
struct Targets {
  std::int64_t dst_bytes = 0;
  std::int64_t src_bytes = 0;
};

/// Whether the columns of a block that leaves past the caches are padded.
bool is_padded(const Question& q, const BufferedSets& s) {
  return q.machine.buffered_padded && padded_column_pitch(q.c, s) != 0;
}

/// How much more the blocks would hold, as a share, if the ends of modes cut none.
double cut(const Canonical& c, const BufferedSets& s) {
  double whole = 1;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    whole *= static_cast<double>(ceil_div(c.modes[i].extent, s.points[i]) * s.points[i]);
  return whole / static_cast<double>(c.units) - 1;
}

/// ns for a unit beyond the streams of lines: the ends of runs ...
double run_ends_ns(const BufferedSets& s, const CpuMachine& m, bool padded) {
  return m.buffered_dst_run_ns / static_cast<double>(s.dst_run.points) +
         (padded ? m.buffered_padded_src_run_ns : m.buffered_src_run_ns) / static_cast<double>(s.src_run.points);
}
/// ... and the shuffles and conversions.
double shuffle_ns(const Canonical& c, const BufferedSets& s, const CpuMachine& m) {
  return buffered_shuffle_ns(c, s.rows.points, s.cols.points) + cast_ns(c, m, s.cols.points);
}

/// ... and what lines take more where blocks are cut short by the ends of modes, padded and large, or not padded.
double shape_ns(const Canonical& c, const BufferedSets& s, const CpuMachine& m, bool padded) {
  double ns = m.buffered_cut_line_ns * cut(c, s);
  const std::int64_t columns = s.units / s.rows.points;
  if (const std::int64_t pitch = padded_column_pitch(c, s); padded)
    ns += m.buffered_padded_line_ns * static_cast<double>(columns * pitch) / kBufferedBytes;
  else if (pitch != 0)
    ns += m.buffered_dense_line_ns;
  return ns * c.dst_unit / static_cast<double>(m.line_bytes);
}

/// The cost of a unit by which the largest block is chosen. Every machine's bid is the price of that block.
double large_ns(const Question& q, const BufferedSets& s) {
  const bool padded = is_padded(q, s);
  return run_ends_ns(s, q.machine, padded) + shuffle_ns(q.c, s, q.machine) + shape_ns(q.c, s, q.machine, padded);
}

/// The cost of a unit by which a block of any size is chosen, past the caches of a machine with numbers for it.
double streamed_ns(const Question& q, const BufferedSets& s) {
  const CpuMachine& m = q.machine;
  const auto dst_run = static_cast<double>(s.dst_run.points), src_run = static_cast<double>(s.src_run.points);
  const auto units = static_cast<double>(s.units);
  const double past = units * q.c.dst_unit - static_cast<double>(kSizes.buffered_small_block_bytes);
  // log2 of the runs in dst, less half of log2 of those in src.
  const double doublings = std::log2(units * src_run / (dst_run * dst_run)) / 2;
  constexpr BufferedBlockCosts kCost;
  const double line_ns = kCost.large_line_ns * std::max(0.0, past) / kBufferedBytes + kCost.runs_line_ns * doublings +
                         kCost.cut_line_ns * cut(q.c, s);
  return m.buffered_streamed_run_ns * (1 / dst_run + 1 / src_run) + shuffle_ns(q.c, s, m) +
         line_ns * q.c.dst_unit / static_cast<double>(m.line_bytes);
}

struct Choice {
  BufferedSets sets;
  Targets targets;
  double ns = 0;
  bool none() const noexcept { return targets.dst_bytes == 0; }
};

/// The sets that cost least, of those that fill a block: long runs in dst against long ones in src. Blocks fill the
/// largest size, or any of its halves down to buffered_least_block_bytes (any_size).
Choice choose_sets(const Question& q, bool any_size) {
  Choice best;
  constexpr std::int64_t kLongest = kSizes.buffered_longest_run_bytes;
  for (std::int64_t most = any_size ? kSizes.buffered_least_block_bytes : kBufferedBytes; most <= kBufferedBytes;
       most *= 2)
    for (Targets t{kLongest, kLineBytes};
         t.dst_bytes >= kSizes.buffered_shortest_run_bytes && t.src_bytes <= kLongest;) {
      BufferedSets s;
      if (!buffered_sets(q.c, t.dst_bytes, t.src_bytes, &s, most)) {
        t.dst_bytes /= 2;
        continue;
      }
      const double ns = any_size ? streamed_ns(q, s) : large_ns(q, s);
      if (best.none() || ns < best.ns) best = {s, t, ns};
      t.src_bytes *= 2;
    }
  return best;
}

/// ns past the caches for stores of columns that start inside vectors, and for the ends of short ones. Long columns of
/// bytes take none: priced like the others, they went to tile/units, which had 0.7 of the speed with two threads.
double split_ns(const Canonical& c, const BufferedSets& s, const CpuMachine& m) {
  const std::int64_t column = s.rows.points * c.dst_unit;
  const std::int64_t vector = column < 2 * kLeastVectorBytes ? kLeastVectorBytes : 2 * kLeastVectorBytes;
  if (column % vector == 0 || c.dst_unit >= kLeastVectorBytes) return 0;
  if (c.dst_unit == 1 && column >= kLineBytes) return 0;
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  const double shortness = column < kLineBytes ? static_cast<double>(kLineBytes) / static_cast<double>(column) : 0;
  return lines * (m.buffered_split_line_ns + m.buffered_short_line_ns * shortness);
}

/// The time in the caches: of blocks of vectors, matrices, columns whose ends lie inside lines, and conversions.
/// `meeting`: the columns that start in one set of the first cache.
double cached_ns(const Canonical& c, const BufferedSets& s, const CpuMachine& m, std::int64_t meeting) {
  constexpr BufferedCachedCosts kCost;
  const double lines = static_cast<double>(c.dst_bytes()) / static_cast<double>(m.line_bytes);
  const std::int64_t column = s.rows.points * c.dst_unit;
  const double columns = lines * static_cast<double>(kLineBytes) / static_cast<double>(column);
  const std::int64_t rows = most_in_a_cache_set(c, s.rows, Side::kSrc, kLineBytes / c.dst_unit);
  const double more = c.dst_unit == 1 ? kCost.byte_line_ns : c.dst_unit == kLeastVectorBytes ? kCost.wide_line_ns : 0;
  return lines * (kCost.line_ns * block_waste(c, s.rows.points, s.cols.points) + more +
                  kCost.columns_ns * crowding(meeting) + kCost.rows_ns * crowding(rows)) +
         columns / static_cast<double>(s.cols.points) * kCost.matrix_ns +
         (column % kLineBytes != 0 ? columns * kCost.column_ns : 0) +
         static_cast<double>(c.units) * cast_ns(c, m, s.cols.points);
}

}  // namespace

void bid_buffered(const Question& q, Bid* bid) {
  const Canonical& c = q.c;
  const CpuMachine& m = q.machine;
  Bid& k = *bid;
  const Choice large = choose_sets(q, false);
  if (large.none()) {
    k.reason = "no set of modes makes dense runs on both sides within a block";
    return;
  }
  k.applies = true;
  const bool any_size = m.buffered_streamed_run_ns > 0 && streams(c, m);
  const Choice small = any_size ? choose_sets(q, true) : Choice();
  const Choice& chosen = any_size ? small : large;
  k.params.push_back({ParamId::kRunBytes, chosen.targets.dst_bytes});
  k.params.push_back({ParamId::kReadBytes, chosen.targets.src_bytes});
  k.params.push_back({ParamId::kWriteBytes, std::clamp<std::int64_t>(m.buffered_write_bytes, 1, kBufferedBytes)});
  push_stream_and_near(&k, c, m, Writes::kRuns, m.near_one_run);
  const bool streams = k.get(ParamId::kStream) != 0;
  const bool padded = streams && is_padded(q, chosen.sets);
  k.params.push_back({ParamId::kPadded, padded ? 1 : 0});
  const BufferedSets& sets = large.sets;
  // Pages change with every run, unless a block is one run on either side. Runs that meet in the caches, of
  // some 16 places each, push each other out before their time.
  std::int64_t meeting = 1;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (sets.points[i] > 1 && !sets.src_run.has(i) && c.modes[i].src_stride % kPageBytes == 0)
      meeting *= sets.points[i];
  const bool one_run = sets.units == std::min(sets.dst_run.points, sets.src_run.points);
  const double pages = one_run                     ? m.buffered_one_run_pages
                       : meeting > m.buffered_ways ? m.buffered_meeting_pages
                                                   : m.buffered_pages;
  const auto units = static_cast<double>(c.units);
  const double split = streams && !padded ? split_ns(c, sets, m) : 0;
  // A block in the caches is put together in dst itself. Where its columns push each other out of the first cache, the
  // columns of one line of src are written before the next ones. Where only some do, that costs no more than elsewhere.
  const std::int64_t columns = kSizes.lines_under_way_src_bytes / c.src_unit;
  const std::int64_t lines = streams ? 1 : most_in_a_cache_set(c, sets.cols, Side::kDst, columns);
  k.params.push_back({ParamId::kBandCols, lines > kSizes.some_lines_meet_from ? kLineBytes / c.dst_unit : 0});
  if (stays_in_caches(c, m)) return set_time(&k, 0, 0, cached_ns(c, sets, m, lines));
  const double meet = lines > kSizes.lines_meet_from ? m.lines_meet : 1;
  set_time(&k, stream_ns(k, m) * pages * meet, units * run_ends_ns(sets, m, padded) + m.buffered_start_ns,
           (units * shuffle_ns(c, sets, m) + split) * meet);
}

}  // namespace restride::cpu
