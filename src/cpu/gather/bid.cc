// The bid of the family gather: it takes every copy.
#include <algorithm>

#include "src/cpu/bid.h"
#include "src/cpu/gather/prepare.h"

namespace restride::cpu {

void bid_gather(const Question& q, Bid* bid) {
  const layout::Canonical& c = q.c;
  Bid& k = *bid;
  k.applies = true;
  if (c.two_sided) {
    k.read_lines = k.written_lines = c.units;
    k.reason = "the shapes have no common refinement, so each side is walked by itself";
  } else {
    k.reason = "right for every layout, one unit at a time";
    if (units_apart(c, q.machine) && streams(c, q.machine)) k.read_lines = std::max(k.read_lines, c.units);
  }
  const std::int64_t run =
      c.two_sided || c.modes.empty() ? 1 : c.modes[0].extent;  // units between two looks at the other modes
  const auto units = static_cast<double>(c.units);
  set_time(&k, stream_ns(k, q.machine), units * row_ns(c, q.machine) / static_cast<double>(run),
           units * (q.machine.unit_ns + q.machine.gather_unit_ns + (c.cast ? q.machine.cast_unit_ns : 0)));
}

}  // namespace restride::cpu
