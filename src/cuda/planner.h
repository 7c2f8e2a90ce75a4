// The CUDA planner: kernels bid for a canonical copy; the cheapest bid wins. Deterministic, allocates nothing, needs no
// GPU and no CUDA headers.
#pragma once

#include <string_view>

#include "src/cuda/machine.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cuda {

/// Errors: ArgumentError when `forced` names no family and no kernel, or one that does not apply (with its reason).
plan::Decision plan_cuda(const layout::Canonical& c, const CudaMachine& machine, std::string_view forced = {});

}  // namespace restride::cuda
