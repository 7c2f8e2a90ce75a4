// The bid of packed/batches on CUDA: tiles of whole matrices, which bulk copies bring in and take out.
#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// Bytes of a matrix, all modes but the outermost; 0 where they, or the matrices, are not one run on both sides.
std::int64_t matrix_bytes(const Canonical& c) {
  const std::size_t rank = c.modes.size() - 1;
  std::int64_t dense = c.dst_unit;
  for (std::size_t m = 0; m < rank; ++m) {
    if (c.modes[m].dst_stride != dense) return 0;
    dense *= c.modes[m].extent;
  }
  std::uint64_t seen = 0;  // src is dense when its strides, in some order, are the products of the extents before them
  for (std::int64_t run = c.src_unit; run < dense;) {
    std::size_t m = 0;
    while (m < rank && (c.modes[m].src_stride != run || (seen >> m & 1) != 0)) ++m;
    if (m == rank) return 0;
    seen |= std::uint64_t{1} << m;
    run *= c.modes[m].extent;
  }
  const CopyMode& batch = c.modes[rank];
  return batch.dst_stride == dense && batch.src_stride == dense ? dense : 0;
}

BatchArgs shape_of(const Canonical& c) {
  BatchArgs a;
  a.rank = narrowed<std::int32_t>(static_cast<std::int64_t>(c.modes.size()) - 1);
  a.matrix_bytes = narrowed<std::int32_t>(c.modes[c.modes.size() - 1].dst_stride);
  for (std::size_t m = 0; m + 1 < c.modes.size(); ++m) {
    a.extent[m] = base::FastDiv(c.modes[m].extent);
    a.step[m] = narrowed<std::int32_t>(c.modes[m].src_stride);
  }
  return a;
}

}  // namespace

void packed::bid_batches(const Canonical& c, const CudaMachine& machine, Candidate& bid) {
  if (c.two_sided || c.cast || c.dst_unit != kBatchUnit)
    return refuse(bid, "no units of 2 bytes that are moved");  // others are faster staged
  if (!machine.bulk_copies) return refuse(bid, "this GPU, or the code for it, has no bulk copies");
  if (c.modes.size() < 3 || c.modes.size() > kMaxBatchModes + 1) return refuse(bid, "too many modes, or too few");
  const std::int64_t matrix = matrix_bytes(c);
  if (matrix == 0) return refuse(bid, "no batch of matrices that are dense on both sides");
  if (c.dst_align < kBatchWord || c.src_align < kBatchWord) return refuse(bid, "a side starts off words of 4 bytes");
  const std::int64_t count = c.modes[c.modes.size() - 1].extent;
  const std::int64_t step = kBatchWord / std::gcd(matrix, std::int64_t{kBatchWord});  // matrices that are whole words
  const auto fit = [&](int stages) { return (batch_room(stages) - kBatchEnds) / (step * matrix) * step; };
  if (matrix > batch_room(1) || fit(1) == 0) return refuse(bid, "a matrix does not fit shared memory");
  const int stages = fit(2) > 0 ? 2 : 1;
  constexpr std::int64_t kMostResident = 4;  // blocks of a multiprocessor
  const std::int64_t resident = machine.shared_per_sm_bytes / (2 * stages * batch_room(stages) + kReservedShared);
  const std::int64_t most_blocks = machine.sm_count * std::clamp<std::int64_t>(resident, 1, kMostResident);
  // As many as fit, but as many tiles for every block.
  const std::int64_t rounds = ceil_div(ceil_div(count, fit(stages)), most_blocks);
  const std::int64_t matrices = std::min(fit(stages), ceil_div(ceil_div(count, most_blocks * rounds), step) * step);
  const std::int64_t tiles = ceil_div(count, matrices);
  if (too_many(tiles)) return refuse(bid, "too many matrices");
  bid.params = {{ParamId::kTileRows, matrices},
                {ParamId::kStages, stages},
                {ParamId::kThreads, kBatchThreads},
                {ParamId::kBlocks, std::min(tiles, most_blocks)}};
  const cuda::Costs& k = *machine.costs;
  predict(bid, machine, c.src_bytes() / 32 + 2 * tiles, c.dst_bytes() / 32 + 2 * tiles,
          k.batches_full * (stages == 1 ? k.batches_one_stage : 1));
}

void prepare_batches(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  auto& a = out.args.emplace<BatchArgs>(shape_of(c));
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.bytes = c.dst_bytes();
  a.stages = narrowed<std::int32_t>(chosen.get(ParamId::kStages, 1));
  a.tile_bytes = narrowed<std::int32_t>(chosen.get(ParamId::kTileRows, 1) * a.matrix_bytes);
  a.tile_units = a.tile_bytes / kBatchUnit;
  a.tiles = narrowed<std::uint32_t>(ceil_div(a.bytes, std::int64_t{a.tile_bytes}));
  a.blocks = narrowed<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
}

}  // namespace restride::cuda
