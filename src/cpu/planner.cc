#include "src/cpu/planner.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/bid.h"
#include "src/cpu/records.h"
#include "src/cpu/sets.h"
#include "src/plan/choose.h"
#include "src/plan/tile_order.h"
#include "src/plan/traffic.h"

namespace restride::cpu {
namespace {

using layout::Canonical;

Bid bid_run(const Canonical& c, const CpuMachine& m) {
  Bid k = base_bid(c, m);
  const bool one_run =
      !c.two_sided && (c.modes.empty() || (c.modes.size() == 1 && c.modes[0].dst_stride == c.dst_unit &&
                                           c.modes[0].src_stride == c.src_unit));
  if (!one_run) {
    k.reason = "the copy is not one run contiguous on both sides";
    return k;
  }
  k.applies = true;
  set_time(&k, stream_ns(k, m), 0, 0);
  push_stream_and_near(&k, c, m);
  return k;
}

/// Rows whose units are records; false when there are none.
bool bid_record_rows(const Canonical& c, const CpuMachine& m, Bid* k) {
  Records records;
  if (!row_records(c, &records)) return false;
  const Canonical& r = records.copy;
  k->applies = true;
  k->params.push_back({ParamId::kRecordBytes, r.dst_unit});
  k->read_lines =
      lines_for_runs(saturated_mul(r.units, r.src_unit), saturated_mul(r.modes[0].extent, r.src_unit), m.line_bytes);
  // Lines of dst with gaps are read, too, before they are written.
  const std::int64_t dst_cell = r.modes[0].dst_stride;
  if (dst_cell > r.dst_unit) k->written_lines = ceil_div(saturated_mul(r.units, 2 * dst_cell), m.line_bytes);
  const auto units = static_cast<double>(r.units);
  set_time(k, stream_ns(*k, m), units / static_cast<double>(r.modes[0].extent) * 2 * m.row_ns, units * m.record_ns);
  return true;
}

/// True where rows are read best as they lie in src, wherever they then go: each is long enough for a start in dst of
/// its own. Rows that are no whole lines share lines with others that come much later.
bool follows_src(const Canonical& c, const Candidate& k, const CpuMachine& m) {
  if (k.get(ParamId::kNear) == 0 || std::abs(c.modes[0].src_stride) != c.src_unit) return false;
  const std::int64_t bytes = c.modes[0].extent * c.dst_unit;
  bool whole = bytes % m.line_bytes == 0;
  for (std::size_t i = 1; i < c.modes.size(); ++i) whole &= c.modes[i].dst_stride % m.line_bytes == 0;
  return bytes >= (whole ? 2 : 6) * m.line_bytes;
}

Bid bid_rows(const Canonical& c, const CpuMachine& m) {
  Bid k = base_bid(c, m);
  push_stream_and_near(&k, c, m);
  if (bid_record_rows(c, m, &k)) return k;
  if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) {
    k.reason = "no mode is dense in dst";
    return k;
  }
  k.applies = true;
  if (follows_src(c, k, m)) k.params.push_back({ParamId::kOrder, static_cast<std::int64_t>(plan::TileOrder::kSrc)});
  const double rows = static_cast<double>(c.units) / static_cast<double>(c.modes[0].extent);
  if (static_cast<std::int64_t>(magnitude(c.modes[0].src_stride)) >= m.line_bytes)
    k.read_lines = std::max(k.read_lines, c.units);  // each unit of a row from a line of its own
  double units_ns = 0;
  if (c.modes[0].src_stride != c.src_unit) {
    const bool easy = !c.cast && (c.modes[0].src_stride == 0 || c.modes[0].src_stride == -c.src_unit);
    const double byte_ns = c.modes[0].src_stride == 0 ? 0.01 : 0.05;
    units_ns = static_cast<double>(c.units) * (easy ? byte_ns * c.dst_unit : m.unit_ns);
  }
  set_time(&k, stream_ns(k, m), rows * m.row_ns, units_ns);
  return k;
}

Bid bid_gather(const Canonical& c, const CpuMachine& m) {
  Bid k = base_bid(c, m);
  k.applies = true;
  if (c.two_sided) {
    k.read_lines = k.written_lines = c.units;
    k.reason = "the shapes have no common refinement, so each side is walked by itself";
  } else {
    k.reason = "right for every layout, one unit at a time";
  }
  const std::int64_t run =
      c.two_sided || c.modes.empty() ? 1 : c.modes[0].extent;  // units between two looks at the other modes
  const auto units = static_cast<double>(c.units);
  set_time(&k, stream_ns(k, m), units * m.row_ns / static_cast<double>(run), units * (m.unit_ns + 0.4));
  return k;
}

/// Tells of each bid what the copy touches. Families that take rows unit by unit want a line for every unit of them,
/// where units of a row lie lines apart, and are so many that the caches lose them before the next row.
void tell_traffic(const Canonical& c, const CpuMachine& m, std::span<Bid> bids) {
  constexpr std::int64_t kFirstCacheBytes = 32 << 10;
  const Traffic traffic = plan::traffic_of(c, m.line_bytes);
  const bool scattered = !c.two_sided && !c.modes.empty() &&
                         magnitude(c.modes[0].src_stride) >= static_cast<std::uint64_t>(m.line_bytes) &&
                         c.modes[0].extent > kFirstCacheBytes / m.line_bytes &&
                         traffic.read_sectors > m.l2_bytes / m.line_bytes;
  for (Bid& k : bids) {
    static_cast<Traffic&>(k.predicted) = traffic;
    if (scattered && (k.kernel.family == Family::kRows || k.kernel.family == Family::kGather))
      k.predicted.read_sectors = std::max(traffic.read_sectors, c.units);
  }
}

struct Bidder {
  plan::KernelName kernel;
  Bid (*bid)(const Canonical&, const CpuMachine&);
};

constexpr Bidder kBidders[] = {{{Family::kRun, "run/units"}, bid_run},
                               {{Family::kRows, "rows/units"}, bid_rows},
                               {{Family::kPacked, "packed/staged"}, bid_packed},
                               {{Family::kTile, "tile/units"}, bid_tile},
                               {{Family::kBuffered, "buffered/blocks"}, bid_buffered},
                               {{Family::kChannels, "channels/planes"}, bid_channels},
                               {{Family::kGather, "gather/units"}, bid_gather}};

}  // namespace

Decision plan_cpu(const Canonical& c, const CpuMachine& machine, std::string_view forced) {
  if (c.units == 0) return plan::nothing_to_do(DeviceKind::kCpu);
  std::array<Bid, std::size(kBidders)> bids;
  std::array<const Candidate*, std::size(kBidders)> order;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    bids[i] = kBidders[i].bid(c, machine);
    bids[i].kernel = kBidders[i].kernel;
    order[i] = &bids[i];
  }
  tell_traffic(c, machine, bids);
  return plan::choose(DeviceKind::kCpu, order, c, forced);
}

}  // namespace restride::cpu
