// The pieces of rows's kernels, each by its arguments.
#pragma once

#include "src/cpu/rows/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const RowsArgs& a, const TraceBase& on);

}  // namespace restride::cpu
