// Which of packed's kernels a copy is left to: records' before direct, direct before batches and staged, whatever
// their predictions say; they have been measured against each other. One that is behind bids where the caller names it.
// Between batches and staged the predictions decide.
#include <algorithm>

#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {

void bid_packed(const Request& request, std::span<Candidate> bids) {
  Candidate &direct = bids[3], &batches = bids[4], &staged = bids[5];
  constexpr std::string_view kLeft = "a kernel for fewer copies, which is faster, takes this one";
  packed::bid_records(request, bids.first(3));
  bool taken = std::any_of(bids.begin(), bids.begin() + 3, [](const Candidate& k) { return k.applies; });
  const auto ask = [&](std::string_view kernel, auto* offer, Candidate& bid) {
    if (taken && !request.forces(kernel)) return refuse(bid, kLeft);
    offer(request, bid);
  };
  ask("packed/direct", packed::bid_direct, direct);
  taken = taken || direct.applies;
  ask("packed/batches", packed::bid_batches, batches);
  ask("packed/staged", packed::bid_staged, staged);
}

}  // namespace restride::cuda
