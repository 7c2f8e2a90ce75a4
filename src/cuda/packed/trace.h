// The pieces of packed's kernels, each by its arguments. `t` comes with its units' sizes and `piece`, and is given
// `pieces` first, which may lower `piece`.
#pragma once

#include "src/cuda/launch.h"
#include "src/plan/trace.h"

namespace restride::cuda {

inline constexpr int kWord = 16;  ///< bytes that a thread moves at once, at most

void trace_kernel(const PackedArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const RecordsArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const DirectArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const BatchArgs& a, const CudaArgs& args, plan::Trace& t);

}  // namespace restride::cuda
