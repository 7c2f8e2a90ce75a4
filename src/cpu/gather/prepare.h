// The family gather: its bid, and the arguments of its kernel.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/gather/args.h"

namespace restride::cpu {

/// gather/units.
void bid_gather(const Question& q, Bid* bid);
GatherArgs prepare_gather(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
