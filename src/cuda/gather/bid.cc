// The bids of gather's kernels on CUDA, which take whatever there is, and their arguments.
#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bid.h"
#include "src/cuda/gather/gather.h"

namespace restride::cuda {

void bid_gather(const Request& request, std::span<Candidate> bids) {
  const layout::Canonical& c = request.c;
  Candidate &bid = bids[c.cast ? 1 : 0], &other = bids[c.cast ? 0 : 1];
  other.reason = c.cast ? "units are converted" : "nothing is converted";
  constexpr std::int64_t kNarrowUnits = std::int64_t{1} << 30;  // whose numbers, and a grid's step more, fit 31 bits
  constexpr std::int64_t kMostBlocks = 1 << 20;                 // threads go on with units further behind
  const bool narrow = c.units < kNarrowUnits;
  const std::int64_t blocks = std::min((c.units - 1) / kGatherThreads + 1, kMostBlocks);
  bid.params = {
      {ParamId::kThreads, kGatherThreads}, {ParamId::kBlocks, blocks}, {ParamId::kIndexBits, narrow ? 32 : 64}};
  // Every unit may cost a sector of src, and a division a mode.
  const std::int64_t read = saturated_mul(c.units, std::max(c.src_unit, 16)) / 32 + 1;
  const Costs& costs = *request.machine.costs;
  predict(bid, request.machine, read, c.dst_bytes() / 32 + 1, c.cast ? costs.gather_cast : costs.gather_move);
}

void prepare_gather(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out) {
  auto& a = out.args.emplace<GatherArgs>();
  a.units = c.units;
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.blocks = narrowed<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
  a.index_bits = static_cast<std::uint8_t>(chosen.get(ParamId::kIndexBits, 64));
  set_dtypes(a, c);
  for (const layout::CopyMode& m : c.modes) {
    a.extent[a.rank] = base::FastDiv64(m.extent);
    a.stride[a.rank] = m.dst_stride;
    a.src_stride[a.rank++] = m.src_stride;
  }
  if (c.two_sided)
    for (const layout::CopyMode& m : c.src_modes) {
      a.extent[a.rank + a.src_rank] = base::FastDiv64(m.extent);
      a.stride[a.rank + a.src_rank++] = m.src_stride;
    }
}

}  // namespace restride::cuda
