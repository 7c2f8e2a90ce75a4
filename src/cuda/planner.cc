// Collects the bids of all kernels.
#include "src/cuda/planner.h"

#include <array>
#include <span>

#include "src/base/saturated.h"
#include "src/cuda/kernels.h"
#include "src/plan/choose.h"
#include "src/plan/traffic.h"

namespace restride::cuda {
namespace {

/// True of steps and offsets that no memory has. Tiles count on past the ends of rows, by up to some thousand steps,
/// which 63 bits then need not hold; gather counts no further than to the last unit.
bool beyond_memory(const layout::Canonical& c) {
  constexpr int kStepBits = 50, kOffsetBits = 60;
  std::uint64_t steps = 0;
  for (const layout::CopyMode& m : c.modes) steps |= magnitude(m.dst_stride) | magnitude(m.src_stride);
  return steps >> kStepBits != 0 || (magnitude(c.dst_offset) | magnitude(c.src_offset)) >> kOffsetBits != 0;
}

/// How many rows from the first of `rows` on are bid for together.
std::size_t together(std::span<const Kernel> rows) {
  std::size_t count = 1;
  while (count < rows.size() && rows[count].bid == rows[0].bid) ++count;
  return count;
}

/// Tells of each bid what the copy touches.
void tell_traffic(const layout::Canonical& c, std::span<Candidate> bids) {
  const plan::Traffic traffic = plan::traffic_of(c, kSectorBytes);
  for (Candidate& bid : bids)
    if (bid.applies) static_cast<plan::Traffic&>(bid.predicted) = traffic;
}

}  // namespace

plan::Decision plan_cuda(const layout::Canonical& c, const CudaMachine& machine, std::string_view forced) {
  if (c.units == 0) return plan::nothing_to_do(DeviceKind::kCuda, machine.name);
  const std::span<const Kernel> rows = kernels();
  const Request request{c, machine, forced};
  const bool beyond = beyond_memory(c);
  std::array<Candidate, plan::kMostKernels> bids;
  std::array<const Candidate*, plan::kMostKernels> order;
  for (std::size_t first = 0; first < rows.size();) {
    const std::size_t count = together(rows.subspan(first));
    if (beyond && rows[first].name.family != plan::Family::kGather)
      for (std::size_t i = first; i < first + count; ++i) bids[i].reason = "steps or offsets beyond any memory";
    else
      rows[first].bid(request, std::span(bids).subspan(first, count));
    for (const std::size_t end = first + count; first < end; ++first) {
      bids[first].kernel = rows[first].name;
      order[first] = &bids[first];
    }
  }
  tell_traffic(c, std::span(bids).first(rows.size()));
  return plan::choose(DeviceKind::kCuda, machine.name, std::span(order).first(rows.size()), c, forced);
}

}  // namespace restride::cuda
