// Gather's kernels as the registry sees them.
#pragma once

#include <span>

#include "src/cuda/kernel.h"

namespace restride::cuda {

void bid_gather(const Request& request, std::span<Candidate> bids);  ///< of gather/units and gather/cast
void prepare_gather(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);

Launcher launch_gather_units, launch_gather_cast;

}  // namespace restride::cuda
