// The pieces of run's kernels, each by its arguments.
#pragma once

#include "src/cpu/run/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const RunArgs& a, const TraceBase& on);

}  // namespace restride::cpu
