// The pieces of tile's kernels, each by its arguments. `t` comes with its units' sizes and `piece`, and is given
// `pieces` first, which may lower `piece`.
#pragma once

#include "src/cuda/launch.h"
#include "src/plan/trace.h"

namespace restride::cuda {

void trace_kernel(const TileArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const BulkTileArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const ChainArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const UnalignedChainArgs& a, const CudaArgs& args, plan::Trace& t);
void trace_kernel(const PixelTileArgs& a, const CudaArgs& args, plan::Trace& t);

}  // namespace restride::cuda
