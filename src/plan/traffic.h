// What a copy touches of its two sides, whoever makes it.
#pragma once

#include <cstdint>

#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::plan {

/// Of one side: bytes of its elements, those that a broadcast repeats counted once, and the sectors they lie in.
struct Touched {
  std::int64_t bytes = 0;
  std::int64_t sectors = 0;
};

/// Counted from where the side is known to lie: an aligned element is in one sector, and holes shorter than a sector
/// hold none of their own. Where the alignment leaves it open, the mean of all places that runs may start at.
Touched touched_src(const layout::Canonical& c, std::int64_t sector_bytes);
Touched touched_dst(const layout::Canonical& c, std::int64_t sector_bytes);

/// Of both sides. It is the same for every family; times are predicted from what each makes of it.
Traffic traffic_of(const layout::Canonical& c, std::int64_t sector_bytes);

}  // namespace restride::plan
