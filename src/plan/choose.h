// From the bids of an engine's kernels to a decision: their order, what a caller may force, and what is refused. The
// same for every engine.
#pragma once

#include <span>
#include <string_view>

#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::plan {

/// True where `forced`, a family or a kernel, names this one: "tile" and "tile/aligned" both name tile/aligned.
constexpr bool names(std::string_view forced, const KernelName& kernel) noexcept {
  return forced == kernel.text || forced == name(kernel.family);
}

/// The decision for a copy of nothing. `costs`, here and below: the machine by whose numbers kernels bid.
Decision nothing_to_do(DeviceKind device, std::string_view costs);

/// The cheapest bid, of those that `forced` names where it is not empty; the others behind it, the cheapest first, then
/// the refusals, both in the registry's order where nothing else tells. `bids`: one of each kernel of the registry.
///
/// Errors: ArgumentError when `forced` names no kernel of the engine, or none that applies (with the reasons).
Decision choose(DeviceKind device, std::string_view costs, std::span<const Candidate* const> bids,
                const layout::Canonical& c, std::string_view forced);

}  // namespace restride::plan
