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
  direct = taken && !request.forces("packed/direct") ? refusal(kLeft) : packed::bid_direct(request.c, request.machine);
  taken = taken || direct.applies;
  batches =
      taken && !request.forces("packed/batches") ? refusal(kLeft) : packed::bid_batches(request.c, request.machine);
  staged = taken && !request.forces("packed/staged") ? refusal(kLeft) : packed::bid_staged(request.c, request.machine);
}

}  // namespace restride::cuda
