// Packed's kernels as the registry sees them.
#pragma once

#include <span>

#include "src/cuda/kernel.h"

namespace restride::cuda {

/// Of packed/records, /records_cast, /planes, /direct, /batches and /staged: the first that can leaves nothing to those
/// behind it, except that packed/batches and packed/staged both bid.
void bid_packed(const Request& request, std::span<Candidate> bids);

void prepare_records(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_direct(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_batches(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_staged(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);

Launcher launch_packed_records, launch_packed_records_cast, launch_packed_planes, launch_packed_direct,
    launch_packed_batches, launch_packed_staged;

}  // namespace restride::cuda
