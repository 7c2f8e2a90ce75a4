// The pieces of rows's kernels, each by its arguments. `t` comes with its units' sizes and `piece`, and is given
// `pieces` first, which may lower `piece`.
#pragma once

#include "src/cuda/launch.h"
#include "src/plan/trace.h"

namespace restride::cuda {

void trace_kernel(const RowsArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const PixelsArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const ShortRowsArgs& a, const CudaArgs& args, plan::Trace& t);

}  // namespace restride::cuda
