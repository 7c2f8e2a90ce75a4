// The family packed: its bid, and the arguments of its kernel.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/packed/args.h"

namespace restride::cpu {

/// packed/staged.
void bid_packed(const Question& q, Bid* bid);
PackedArgs prepare_packed(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
