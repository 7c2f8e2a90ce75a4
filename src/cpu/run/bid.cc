// The bids of the family run: all of it as it lies, or in pieces that are prefetched near.
#include "src/cpu/bid.h"
#include "src/cpu/rows/prepare.h"
#include "src/cpu/run/prepare.h"

namespace restride::cpu {

void bid_run(const Question& q, Bid* bids) {
  const layout::Canonical& c = q.c;
  Bid& units = bids[0];
  Bid& pieces = bids[1];
  if (!is_run(c)) {
    units.reason = pieces.reason = "the copy is not one run contiguous on both sides";
    return;
  }
  Bid k = base_bid(c, q.machine);
  k.applies = true;
  set_time(&k, stream_ns(k, q.machine), 0, 0);
  push_stream_and_near(&k, c, q.machine);
  const bool near = k.get(ParamId::kNear) != 0 && !c.modes.empty();
  units = pieces = k;
  if (!c.modes.empty())
    pieces.params.push_back({ParamId::kLoop, static_cast<std::int64_t>(loop_of(c, streams(c, q.machine), near))});
  if (near && !q.wants("run/units")) {
    units.applies = false;
    units.reason = "pieces are prefetched near";
  }
  if (c.modes.empty() || (!near && !q.wants("run/pieces"))) {
    pieces.applies = false;
    pieces.reason = c.modes.empty() ? "one unit has no pieces" : "nothing is prefetched near";
  }
}

}  // namespace restride::cpu
