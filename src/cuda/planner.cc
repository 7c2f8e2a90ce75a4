// Collects the bids, orders them, and holds the arithmetic that they share.
#include "src/cuda/planner.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bids.h"
#include "src/plan/traffic.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

ByteRange source_range(const Canonical& c) {
  ByteRange range{c.src_offset, c.src_offset + c.src_unit};
  for (const CopyMode& m : c.modes) {
    const std::int64_t reach = (m.extent - 1) * m.src_stride;
    (reach < 0 ? range.first : range.last) += reach;
  }
  return range;
}

bool units_aligned(const Canonical& c) {
  if (c.dst_align < c.dst_unit || c.src_align < c.src_unit) return false;
  for (const CopyMode& m : c.modes)
    if (m.dst_stride % c.dst_unit != 0 || m.src_stride % c.src_unit != 0) return false;
  return true;
}

bool moves_or_converts(const Canonical& c) { return !c.cast || has_cast_sizes(c.dst_unit, c.src_unit); }

std::int64_t row_alignment(const Canonical& c, std::uint64_t inside) {
  std::int64_t bits = c.dst_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i >= 64 || (inside >> i & 1) == 0) bits |= c.modes[i].dst_stride;
  return bits & -bits;
}

bool outer_walk(const Canonical& c, std::uint64_t inside, Walk* walk, std::int64_t* count) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  *count = 1;
  int rank = 0;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    if (i < 64 && (inside >> i & 1) != 0) continue;
    const CopyMode& m = c.modes[i];
    if (rank == kMaxWalk || m.extent >= kLimit || (m.extent + 1) * *count > kLimit) return false;
    if (walk != nullptr) {
      walk->extent[rank] = base::FastDiv(m.extent);
      walk->dst_stride[rank] = m.dst_stride;
      walk->src_stride[rank] = m.src_stride;
      walk->rank = rank + 1;
    }
    ++rank;
    *count *= m.extent;
  }
  return true;
}

std::int64_t sectors(std::int64_t runs, std::int64_t bytes, std::int64_t alignment) {
  // A run that starts anywhere touches, on average, (bytes - 1) / 32 + 1 sectors.
  return alignment % 32 == 0 ? saturated_mul(runs, (bytes - 1) / 32 + 1) : saturated_mul(runs, bytes - 1) / 32 + runs;
}

double used_by(std::int64_t extent, std::int64_t tile) {
  return static_cast<double>(extent) / static_cast<double>(ceil_div(extent, tile) * tile);
}

void predict(Candidate& bid, const Canonical& c, const CudaMachine& machine, std::int64_t read_sectors,
             std::int64_t written_sectors, double efficiency) {
  constexpr double kLaunchNs = 2000;
  constexpr std::int64_t kSectorBytes = 32;
  bid.applies = true;
  static_cast<Traffic&>(bid.predicted) = plan::traffic_of(c, kSectorBytes);
  const double sectors = static_cast<double>(read_sectors) + static_cast<double>(written_sectors);
  bid.predicted.time_ns = kLaunchNs + 32.0 * sectors / (machine.copy_bytes_per_ns * efficiency);
  bid.predicted.sectors_ns = 32.0 * sectors / machine.copy_bytes_per_ns;
}

namespace {

/// Packed's best offer: its kernels for records, that which stages nothing, or the general one.
Candidate pack(const Canonical& c, const CudaMachine& machine) {
  const Candidate records = bid_records(c, machine);
  if (records.applies) return records;
  const Candidate direct = bid_direct(c, machine);
  return direct.applies ? direct : bid_packed(c, machine);
}

/// True of steps and offsets that no memory has. Tiles count on past the ends of rows, by up to some thousand steps,
/// which 63 bits then need not hold; gather counts no further than to the last unit.
bool beyond_memory(const Canonical& c) {
  constexpr int kStepBits = 50, kOffsetBits = 60;
  std::uint64_t steps = 0;
  for (const CopyMode& m : c.modes) steps |= magnitude(m.dst_stride) | magnitude(m.src_stride);
  return steps >> kStepBits != 0 || (magnitude(c.dst_offset) | magnitude(c.src_offset)) >> kOffsetBits != 0;
}

/// Asks a family for its bid, gather alone where steps are beyond any memory.
struct Ask {
  const Canonical& c;
  const CudaMachine& machine;
  bool beyond;

  [[gnu::noinline]] Candidate operator()(Family family, Candidate (*bid)(const Canonical&, const CudaMachine&)) const {
    return beyond ? refusal(family, "steps or offsets beyond any memory") : bid(c, machine);
  }
};

/// The names of the families that bid.
std::string bidders(std::span<const Candidate> bids) {
  return plan::family_list([&](Family f) {
    return std::any_of(bids.begin(), bids.end(), [f](const Candidate& b) { return b.family == f; });
  });
}

bool better(const Candidate& a, const Candidate& b) {
  return a.applies != b.applies ? a.applies : a.applies && a.predicted.time_ns < b.predicted.time_ns;
}

}  // namespace

Decision plan_cuda(const Canonical& c, const CudaMachine& machine, std::string_view forced) {
  Decision decision;
  decision.device = DeviceKind::kCuda;
  if (c.units == 0) {
    decision.chosen.family = Family::kNoop;
    decision.chosen.applies = true;
    decision.chosen.reason = "nothing to do";
    return decision;
  }
  const Ask ask{c, machine, beyond_memory(c)};
  const Candidate bids[] = {ask(Family::kRun, bid_run),          ask(Family::kRows, bid_rows),
                            ask(Family::kRows, bid_pixels),      ask(Family::kRows, bid_short_rows),
                            ask(Family::kTile, bid_tile),        ask(Family::kTile, bid_tile_bulk),
                            ask(Family::kTile, bid_tile_chains), ask(Family::kTile, bid_tile_pixels),
                            ask(Family::kPacked, pack),          bid_gather(c, machine)};
  // Best first, refusals last, otherwise in the order of the bids.
  std::array<const Candidate*, std::size(bids)> order;
  std::size_t count = 0;
  for (const Candidate& b : bids) {
    std::size_t at = count++;
    for (; at > 0 && better(b, *order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = &b;
  }
  const Candidate* chosen = order[0];
  if (!forced.empty()) {
    const auto found =
        std::find_if(order.begin(), order.end(), [&](const Candidate* b) { return name(b->family) == forced; });
    if (found == order.end())
      throw ArgumentError("no CUDA family is named '" + std::string(forced) + "'; use one of " + bidders(bids));
    chosen = *found;
    if (!chosen->applies)
      throw ArgumentError("family '" + std::string(forced) + "' does not apply: " + std::string(chosen->reason) +
                          "; leave the choice to the planner");
  }
  decision.chosen = *chosen;
  decision.chosen.reason = forced.empty() ? "lowest predicted time" : "forced by the caller";
  for (const Candidate* b : order)
    if (b != chosen) {
      decision.others.push_back(*b);
      if (b->applies) decision.others.back().reason = "slower by prediction";
    }
  return decision;
}

}  // namespace restride::cuda
