#include "src/plan/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace restride::plan {
namespace {

bool better(const Candidate& a, const Candidate& b) { return a.predicted.time_ns < b.predicted.time_ns; }

bool is_kernel(std::string_view forced) { return forced.find('/') != std::string_view::npos; }

/// Why nothing that `forced` names can be chosen.
[[noreturn, gnu::cold]] void refuse(DeviceKind device, std::span<const Candidate* const> bids,
                                    const layout::Canonical& c, std::string_view forced) {
  std::string reasons;
  for (const Candidate* k : bids)
    if (names(forced, k->kernel))
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", k->kernel.text, k->reason);
  if (!reasons.empty())
    throw ArgumentError(fmt::format("{} '{}' does not apply to {} ({}); leave the choice to the planner",
                                    is_kernel(forced) ? "kernel" : "family", forced, layout::to_string(c), reasons));
  const std::string families = family_list([&](Family f) {
    return std::any_of(bids.begin(), bids.end(), [f](const Candidate* k) { return k->kernel.family == f; });
  });
  std::string kernels;
  for (const Candidate* k : bids) kernels += fmt::format("{}{}", kernels.empty() ? "" : ", ", k->kernel.text);
  throw ArgumentError(fmt::format("{} has no {} '{}'; use one of {}, or one of their kernels: {}",
                                  device == DeviceKind::kCuda ? "CUDA" : "the CPU",
                                  is_kernel(forced) ? "kernel" : "family", forced, families, kernels));
}

}  // namespace

Decision nothing_to_do(DeviceKind device, std::string_view costs) {
  Decision d;
  d.device = device;
  d.costs = costs;
  d.chosen.applies = true;
  d.chosen.reason = "nothing to do";
  return d;
}

Decision choose(DeviceKind device, std::string_view costs, std::span<const Candidate* const> bids,
                const layout::Canonical& c, std::string_view forced) {
  Decision d;
  d.device = device;
  d.costs = costs;
  const Candidate* chosen = nullptr;
  for (const Candidate* k : bids)
    if (k->applies && (forced.empty() || names(forced, k->kernel)) && (chosen == nullptr || better(*k, *chosen)))
      chosen = k;
  if (chosen == nullptr) refuse(device, bids, c, forced);
  d.chosen = *chosen;
  detail::FixedVector<const Candidate*, kMostKernels> order;
  for (const Candidate* k : bids) {
    if (k == chosen || !k->applies) continue;
    std::size_t at = order.size();
    order.push_back(k);
    for (; at > 0 && better(*k, *order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = k;
  }
  for (const Candidate* k : order) d.others.push_back(*k);
  for (const Candidate* k : bids)
    if (!k->applies) d.others.push_back(*k);
  return d;
}

}  // namespace restride::plan
