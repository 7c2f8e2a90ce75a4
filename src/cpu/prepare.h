// From a decision to a CPU kernel's arguments.
#pragma once

#include "src/cpu/args.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

/// `threads` are to share the tasks: where the decision makes fewer, tiles are cut into more.
/// Errors: ParseError when the decision's parameters do not fit the canonical form (a plan that was edited).
CpuArgs prepare_cpu(const layout::Canonical& c, const plan::Decision& d, int threads);

}  // namespace restride::cpu
