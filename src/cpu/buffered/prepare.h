// The family buffered: its bid, and the arguments of its kernel.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/buffered/args.h"

namespace restride::cpu {

/// buffered/blocks.
void bid_buffered(const Question& q, Bid* bid);
BufferedArgs prepare_buffered(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
