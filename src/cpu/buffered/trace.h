// The pieces of buffered's kernels, each by its arguments.
#pragma once

#include "src/cpu/buffered/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const BufferedArgs& a, const TraceBase& on);

}  // namespace restride::cpu
