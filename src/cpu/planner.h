// The CPU planner: kernels bid for a canonical copy; the cheapest bid wins. Deterministic, allocates nothing.
#pragma once

#include <string_view>

#include "src/cpu/costs.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

using plan::Candidate;
using plan::Decision;
using plan::Family;
using plan::Param;
using plan::ParamId;
using plan::Params;
using plan::Prediction;
using plan::Traffic;

/// `threads` are to share the copy. Errors: ArgumentError when `forced` names no family or kernel, or one that does not
/// apply (with its reason).
Decision plan_cpu(const layout::Canonical& c, const CpuMachine& machine, std::string_view forced = {}, int threads = 1);

}  // namespace restride::cpu
