// What gather's kernels do, told by gather/map.h.
#include <algorithm>

#include "src/cuda/trace.h"

namespace restride::cuda {

void trace_kernel(const GatherArgs& a, const CudaArgs&, plan::Trace& t) {
  t.piece_is = "block";
  set_pieces(t, (a.units + kGatherThreads - 1) / kGatherThreads, a.blocks, kGatherThreads);
  for (std::int32_t thread = 0; thread < kGatherThreads; ++thread) {
    const std::int64_t unit = t.piece * kGatherThreads + thread;
    if (unit >= a.units) break;
    const Offsets at = gather_offsets<std::uint64_t>(a, static_cast<std::uint64_t>(unit));
    t.load(0, thread, at.src, t.src_unit);
    t.store(0, thread, at.dst, t.dst_unit);
    t.unit(thread, at.dst, at.src);
  }
}

}  // namespace restride::cuda
