// `restride explain` of two distributions: what must move between ranks.
#pragma once

#include <string>
#include <string_view>

#include <restride/distributed.hpp>

namespace restride::tools {

/// True for 'DTYPE DISTRIBUTION -> [DTYPE] DISTRIBUTION'.
bool names_exchange(std::string_view what);

/// Prints the figures; of `rank` >= 0 also its messages. `costs`: of the predicted time. Errors: UsageError where the
/// text cannot be read, and what the planner throws.
void explain_exchange(const std::string& what, int rank, bool json, const distributed::LinkCosts& costs);

}  // namespace restride::tools
