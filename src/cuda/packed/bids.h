// The bids of packed's kernels, which packed/bid.cc puts in their order.
#pragma once

#include <span>

#include "src/cuda/bid.h"

namespace restride::cuda::packed {

void bid_records(const Request& request, std::span<Candidate> bids);  ///< of /records, /records_cast, /planes
void bid_direct(const Request& request, Candidate& bid);
void bid_batches(const Request& request, Candidate& bid);
void bid_staged(const Request& request, Candidate& bid);

}  // namespace restride::cuda::packed
