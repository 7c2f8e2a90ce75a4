// The bids of the family rows: rows of units, and rows of records.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/bid.h"
#include "src/cpu/records.h"
#include "src/cpu/rows/prepare.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// True where every row of dst is whole lines, the gaps inside it included.
bool has_whole_lines(const Canonical& c, const CpuMachine& m) {
  bool whole = saturated_mul(c.modes[0].extent, c.modes[0].dst_stride) % m.line_bytes == 0;
  for (std::size_t i = 1; i < c.modes.size(); ++i) whole &= c.modes[i].dst_stride % m.line_bytes == 0;
  return whole;
}

/// True where rows are read best as they lie in src, wherever they then go: each is long enough for a start in dst of
/// its own. Rows that are no whole lines share lines with others that come much later.
bool follows_src(const Canonical& c, const CpuMachine& m) {
  if (!reads_near(c, m) || std::abs(c.modes[0].src_stride) != c.src_unit) return false;
  const std::int64_t lines = has_whole_lines(c, m) ? kSizes.rows_whole_lines : kSizes.rows_ragged_lines;
  return c.modes[0].extent * c.dst_unit >= lines * m.line_bytes;
}

/// True where records that go down in src are prefetched into the second cache.
bool goes_down_far(const Canonical& r, const CpuMachine& m) {
  return m.rows_down_far_bytes != 0 && r.modes[0].src_stride < 0 &&
         saturated_mul(r.modes[0].extent, r.src_unit) >= m.rows_down_far_bytes;
}

/// In src's order, from their ends, for records that go down there. Dst's order is faster without AVX-512 (Zen 3,
/// mirrored pixels 0.45 -> 0.53 of a plain copy, half turns 0.47 -> 0.53), and, with rows_down_far_bytes, for long rows
/// and for rows that are no whole lines.
RowOrder order_of_records(const Canonical& r, const CpuMachine& m) {
  if (!m.has_permutes() || r.modes[0].src_stride > 0 || !follows_src(r, m)) return RowOrder::kDst;
  if (goes_down_far(r, m) || (m.rows_down_far_bytes != 0 && !has_whole_lines(r, m))) return RowOrder::kDst;
  return RowOrder::kSrc;
}

/// True where the kernel prefetches src. With records_left_alone, the core's own prefetcher reads two kinds of records
/// that go upwards: those in cells of a power of two, at most twice the record, if dst is dense; and those that go into
/// cells of less than twice the record.
bool is_prefetched(const Canonical& r, const CpuMachine& m) {
  const std::int64_t from = r.modes[0].src_stride, to = r.modes[0].dst_stride;
  if (!m.records_left_alone || from < 0) return true;
  if (to > r.dst_unit) return to >= 2 * r.dst_unit;
  return from > 2 * r.dst_unit || !std::has_single_bit(static_cast<std::uint64_t>(from));
}

void bid_records(const Canonical& c, const Canonical& r, const CpuMachine& m, Bid* k) {
  k->applies = true;
  push_stream_and_near(k, c, m, Writes::kRuns, goes_down_far(r, m));
  k->params.push_back({ParamId::kRecordBytes, r.dst_unit});
  k->params.push_back({ParamId::kOrder, static_cast<std::int64_t>(order_of_records(r, m))});
  k->params.push_back({ParamId::kAhead, is_prefetched(r, m) ? 1 : 0});
  k->read_lines =
      lines_for_runs(saturated_mul(r.units, r.src_unit), saturated_mul(r.modes[0].extent, r.src_unit), m.line_bytes);
  // Lines of dst with gaps are read, too, before they are written.
  const std::int64_t dst_cell = r.modes[0].dst_stride;
  if (dst_cell > r.dst_unit) k->written_lines = ceil_div(saturated_mul(r.units, 2 * dst_cell), m.line_bytes);
  const auto units = static_cast<double>(r.units);
  set_time(k, stream_ns(*k, m), units / static_cast<double>(r.modes[0].extent) * m.rows_record_row_rows * row_ns(c, m),
           units * m.rows_record_ns);
}

void bid_units(const Canonical& c, const CpuMachine& m, Bid* k) {
  k->applies = true;
  push_stream_and_near(k, c, m);
  k->params.push_back(
      {ParamId::kOrder, static_cast<std::int64_t>(follows_src(c, m) ? RowOrder::kSrc : RowOrder::kDst)});
  const RowLoop loop = loop_of(c, streams(c, m), reads_near(c, m));
  k->params.push_back({ParamId::kLoop, static_cast<std::int64_t>(loop)});
  const double rows = static_cast<double>(c.units) / static_cast<double>(c.modes[0].extent);
  if (units_apart(c, m)) k->read_lines = std::max(k->read_lines, c.units);
  // A unit that fills a row is read once.
  if (c.modes[0].src_stride == 0) k->read_lines = std::min(k->read_lines, c.units / c.modes[0].extent);
  double units_ns = 0;
  if (c.modes[0].src_stride != c.src_unit) {
    const bool easy = !c.cast && (c.modes[0].src_stride == 0 || c.modes[0].src_stride == -c.src_unit);
    const double byte_ns = c.modes[0].src_stride == 0 ? m.rows_repeated_byte_ns : m.rows_reversed_byte_ns;
    units_ns = static_cast<double>(c.units) * (easy ? byte_ns * c.dst_unit : m.unit_ns + (c.cast ? m.cast_unit_ns : 0));
  }
  set_time(k, stream_ns(*k, m), rows * (loop == RowLoop::kCached ? m.rows_cached_row_rows : 1) * row_ns(c, m),
           units_ns);
}

}  // namespace

void bid_rows(const Question& q, Bid* bids) {
  const Canonical& c = q.c;
  Bid& units = bids[0];
  Bid& of_records = bids[1];
  Records records;
  const bool has_records = row_records(c, &records);
  if (has_records)
    bid_records(c, records.copy, q.machine, &of_records);
  else
    of_records.reason = "no records of a few bytes lie in one stride on both sides";
  const bool dense = !c.two_sided && !c.modes.empty() && c.modes[0].dst_stride == c.dst_unit;
  if (!dense)
    units.reason = "no mode is dense in dst";
  else if (has_records && !q.wants("rows/units"))
    units.reason = "rows are of records";
  else
    bid_units(c, q.machine, &units);
}

}  // namespace restride::cpu
