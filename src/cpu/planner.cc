#include "src/cpu/planner.h"

#include <algorithm>
#include <array>
#include <span>

#include "src/base/checked.h"
#include "src/cpu/families.h"
#include "src/cpu/sets.h"
#include "src/plan/choose.h"
#include "src/plan/traffic.h"

namespace restride::cpu {
namespace {

using layout::Canonical;

/// Families that read dst's runs unit by unit.
bool by_units(Family family) { return family == Family::kRows || family == Family::kGather; }

/// True where what is read for units that follow each other in dst lies lines apart.
bool reads_apart(const Canonical& c, const CpuMachine& m) {
  return !c.two_sided && !c.modes.empty() &&
         magnitude(c.modes[0].src_stride) >= static_cast<std::uint64_t>(m.line_bytes);
}

/// Tells of each bid what the copy touches. Families that take rows unit by unit want a line for every unit of them,
/// where units of a row lie lines apart, and are so many that the caches lose them before the next row.
void tell_traffic(const Canonical& c, const CpuMachine& m, std::span<Bid> bids) {
  const Traffic traffic = plan::traffic_of(c, m.line_bytes);
  const bool scattered = reads_apart(c, m) && c.modes[0].extent > m.first_cache_bytes / m.line_bytes &&
                         traffic.read_sectors > m.l2_bytes / m.line_bytes;
  for (Bid& k : bids) {
    static_cast<Traffic&>(k.predicted) = traffic;
    if (scattered && by_units(k.kernel.family)) k.predicted.read_sectors = std::max(traffic.read_sectors, c.units);
  }
}

/// How much longer kernels take in the caches that read units of dst's runs one by one, each from a line of its own.
double units_meet(const Canonical& c, const CpuMachine& m) {
  if (!reads_apart(c, m)) return 1;
  ModeSet all;
  all.points = c.units;
  for (std::size_t i = 0; i < c.modes.size(); ++i) all.modes.push_back(static_cast<std::uint8_t>(i));
  return lines_meet(m, most_in_a_cache_set(c, all, Side::kSrc, kSizes.lines_under_way_dst_bytes / c.dst_unit));
}

/// What is left in the caches of the time of kernels that transpose blocks of vectors.
double blocks_left(const Canonical& c, const CpuMachine& m) {
  if (c.dst_bytes() > m.l2_bytes) return 1;
  return c.dst_unit < 4 ? m.cached_small_blocks : m.cached_blocks;
}

/// Prices a bid for the caches; `all` multiplies every part.
void keep_in_caches(const InCaches& left, double all, Bid* k) {
  const double lines = k->predicted.sectors_ns, starts = k->predicted.starts_ns;
  set_time(k, lines * left.lines * all, starts * left.starts * all,
           (k->predicted.time_ns - lines - starts) * left.units * all);
}

}  // namespace

Decision plan_cpu(const Canonical& c, const CpuMachine& machine, std::string_view forced, int threads) {
  if (c.units == 0) return plan::nothing_to_do(DeviceKind::kCpu, machine.name);
  std::array<Bid, std::size(kKernels)> bids;
  std::array<const Candidate*, std::size(kKernels)> order;
  const Lines lines = lines_of(c, machine);
  const bool cached = stays_in_caches(c, machine);
  const double meet = cached ? units_meet(c, machine) : 1;
  const double blocks = cached ? blocks_left(c, machine) : 1;
  for (Bid& k : bids) {
    k.read_lines = lines.read;
    k.written_lines = lines.written;
  }
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (i == 0 || kKernels[i].bid != kKernels[i - 1].bid) kKernels[i].bid({c, machine, forced, threads}, &bids[i]);
    bids[i].kernel = kKernels[i].name;
    const InCaches& in_caches = kKernels[i].in_caches;
    if (cached && bids[i].applies)
      keep_in_caches(in_caches, (by_units(kKernels[i].name.family) ? meet : 1) * (in_caches.blocks ? blocks : 1),
                     &bids[i]);
    order[i] = &bids[i];
  }
  tell_traffic(c, machine, bids);
  return plan::choose(DeviceKind::kCpu, machine.name, order, c, forced);
}

}  // namespace restride::cpu
