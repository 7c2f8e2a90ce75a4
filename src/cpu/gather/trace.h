// The pieces of gather's kernels, each by its arguments.
#pragma once

#include "src/cpu/gather/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const GatherArgs& a, const TraceBase& on);

}  // namespace restride::cpu
