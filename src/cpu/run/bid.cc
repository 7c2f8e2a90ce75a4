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
  const auto offer = [&](Bid* k) {
    k->applies = true;
    set_time(k, stream_ns(*k, q.machine), 0, 0);
    push_stream_and_near(k, c, q.machine);
  };
  const bool near = reads_near(c, q.machine) && !c.modes.empty();
  if (near && !q.wants("run/units"))
    units.reason = "pieces are prefetched near";
  else
    offer(&units);
  if (c.modes.empty() || (!near && !q.wants("run/pieces"))) {
    pieces.reason = c.modes.empty() ? "one unit has no pieces" : "nothing is prefetched near";
  } else {
    offer(&pieces);
    pieces.params.push_back({ParamId::kLoop, static_cast<std::int64_t>(loop_of(c, streams(c, q.machine), near))});
  }
}

}  // namespace restride::cpu
