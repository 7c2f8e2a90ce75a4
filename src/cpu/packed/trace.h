// The pieces of packed's kernels, each by its arguments.
#pragma once

#include "src/cpu/packed/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const PackedArgs& a, const TraceBase& on);

}  // namespace restride::cpu
