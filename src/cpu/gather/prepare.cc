#include "src/cpu/gather/prepare.h"

#include "src/cpu/gather/kernel.h"
#include "src/cpu/prepare.h"

namespace restride::cpu {

GatherArgs prepare_gather(const layout::Canonical& c, const plan::Candidate& k, int) {
  GatherArgs a;
  set_common(c, k, &a);
  a.kernel = gather;
  a.tasks = c.units;
  for (const layout::CopyMode& m : c.modes) a.nest.push(m);
  for (const layout::CopyMode& m : c.src_modes) a.src_nest.push(m);
  return a;
}

}  // namespace restride::cpu
