// The pieces of tile's kernels, each by its arguments.
#pragma once

#include "src/cpu/tile/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const TileArgs& a, const TraceBase& on);
void trace_kernel(const MatrixArgs& a, const TraceBase& on);

}  // namespace restride::cpu
