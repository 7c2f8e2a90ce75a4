// Collects the bids, orders them, and holds the arithmetic that they share.
#include "src/cuda/planner.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bids.h"
#include "src/plan/choose.h"
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

/// True of steps and offsets that no memory has. Tiles count on past the ends of rows, by up to some thousand steps,
/// which 63 bits then need not hold; gather counts no further than to the last unit.
bool beyond_memory(const Canonical& c) {
  constexpr int kStepBits = 50, kOffsetBits = 60;
  std::uint64_t steps = 0;
  for (const CopyMode& m : c.modes) steps |= magnitude(m.dst_stride) | magnitude(m.src_stride);
  return steps >> kStepBits != 0 || (magnitude(c.dst_offset) | magnitude(c.src_offset)) >> kOffsetBits != 0;
}

/// A kernel, or some that take turns, and its bid.
struct Bidder {
  plan::KernelName kernel;
  Candidate (*bid)(const Canonical&, const CudaMachine&);
};

constexpr Bidder kBidders[] = {{{Family::kRun, "run/words"}, bid_run},
                               {{Family::kRows, "rows/words"}, bid_rows},
                               {{Family::kRows, "rows/pixels"}, bid_pixels},
                               {{Family::kRows, "rows/short"}, bid_short_rows},
                               {{Family::kTile, "tile/aligned"}, bid_tile},
                               {{Family::kTile, "tile/bulk"}, bid_tile_bulk},
                               {{Family::kTile, "tile/chains"}, bid_tile_chains},
                               {{Family::kTile, "tile/pixels"}, bid_tile_pixels},
                               {{Family::kPacked, "packed/records"}, bid_records},
                               {{Family::kPacked, "packed/direct"}, bid_direct},
                               {{Family::kPacked, "packed/staged"}, bid_packed},
                               {{Family::kGather, "gather/units"}, bid_gather}};

/// Packed's kernels take turns: the records', that which stages nothing, the general one.
void take_turns(std::span<Candidate> bids) {
  bool taken = false;
  for (Candidate& k : bids) {
    if (k.kernel.family != Family::kPacked || !k.applies) continue;
    if (taken) {
      const plan::KernelName kernel = k.kernel;
      k = refusal("another of packed's kernels is for such copies");
      k.kernel = kernel;
    }
    taken = true;
  }
}

}  // namespace

Decision plan_cuda(const Canonical& c, const CudaMachine& machine, std::string_view forced) {
  if (c.units == 0) return plan::nothing_to_do(DeviceKind::kCuda);
  const bool beyond = beyond_memory(c);
  std::array<Candidate, std::size(kBidders)> bids;
  std::array<const Candidate*, std::size(kBidders)> order;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const Bidder& b = kBidders[i];
    bids[i] = beyond && b.kernel.family != Family::kGather ? refusal("steps or offsets beyond any memory") : b.bid(c, machine);
    bids[i].kernel = b.kernel;
    order[i] = &bids[i];
  }
  take_turns(bids);
  return plan::choose(DeviceKind::kCuda, order, c, forced);
}

}  // namespace restride::cuda
