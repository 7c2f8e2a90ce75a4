#include "src/cuda/kernels.h"

#include <algorithm>
#include <iterator>

#include "src/cuda/gather/gather.h"
#include "src/cuda/packed/packed.h"
#include "src/cuda/rows/rows.h"
#include "src/cuda/tile/tile.h"

// A row: family, name, the stem of its symbol and of its launcher (tile_aligned: tile_aligned_kernel and
// launch_tile_aligned in tile/aligned.cu), bid, prepare. Without a CUDA compiler a row has no launcher.
#ifndef RESTRIDE_HAS_CUDA
#error "the build says with RESTRIDE_HAS_CUDA, 0 or 1, whether the launchers are linked"
#elif RESTRIDE_HAS_CUDA
#define RESTRIDE_ROW(family, name, stem, bid, prepare) \
  { {plan::Family::family, name}, #stem "_kernel", bid, prepare, launch_##stem }
#define RESTRIDE_ROW_WITH_PAIRS(family, name, stem, bid, prepare) \
  { {plan::Family::family, name}, #stem "_kernel", bid, prepare, launch_##stem, launch_##stem##_pairs }
#else
#define RESTRIDE_ROW(family, name, stem, bid, prepare) \
  { {plan::Family::family, name}, #stem "_kernel", bid, prepare, nullptr }
#define RESTRIDE_ROW_WITH_PAIRS RESTRIDE_ROW
#endif

namespace restride::cuda {
namespace {

constexpr Kernel kKernels[] = {
    RESTRIDE_ROW_WITH_PAIRS(kRun, "run/words", rows_words, bid_lines, prepare_lines),
    RESTRIDE_ROW(kRun, "run/cast", rows_cast, bid_lines, prepare_lines),
    RESTRIDE_ROW_WITH_PAIRS(kRows, "rows/words", rows_words, bid_lines, prepare_lines),
    RESTRIDE_ROW(kRows, "rows/cast", rows_cast, bid_lines, prepare_lines),
    RESTRIDE_ROW(kRows, "rows/pixels", rows_pixels, bid_pixels, prepare_pixels),
    RESTRIDE_ROW(kRows, "rows/short", rows_short, bid_short, prepare_short),
    RESTRIDE_ROW(kTile, "tile/aligned", tile_aligned, bid_tiles, prepare_tiles),
    RESTRIDE_ROW(kTile, "tile/registers", tile_registers, bid_tiles, prepare_tiles),
    RESTRIDE_ROW(kTile, "tile/unaligned", tile_unaligned, bid_tiles, prepare_tiles),
    RESTRIDE_ROW(kTile, "tile/bulk", tile_bulk, bid_tiles, prepare_bulk_tiles),
    RESTRIDE_ROW(kTile, "tile/chains", tile_chains, bid_chains, prepare_chains),
    RESTRIDE_ROW(kTile, "tile/unaligned_chains", tile_unaligned_chains, bid_unaligned_chains, prepare_unaligned_chains),
    RESTRIDE_ROW(kTile, "tile/pixels", tile_pixels, bid_pixel_tiles, prepare_pixel_tiles),
    RESTRIDE_ROW(kPacked, "packed/records", packed_records, bid_packed, prepare_records),
    RESTRIDE_ROW(kPacked, "packed/records_cast", packed_records_cast, bid_packed, prepare_records),
    RESTRIDE_ROW(kPacked, "packed/planes", packed_planes, bid_packed, prepare_records),
    RESTRIDE_ROW(kPacked, "packed/direct", packed_direct, bid_packed, prepare_direct),
    RESTRIDE_ROW(kPacked, "packed/batches", packed_batches, bid_packed, prepare_batches),
    RESTRIDE_ROW(kPacked, "packed/staged", packed_staged, bid_packed, prepare_staged),
    RESTRIDE_ROW(kGather, "gather/units", gather_units, bid_gather, prepare_gather),
    RESTRIDE_ROW(kGather, "gather/cast", gather_cast, bid_gather, prepare_gather),
};

static_assert(std::size(kKernels) <= plan::kMostKernels);

}  // namespace

std::span<const Kernel> kernels() noexcept { return kKernels; }

const Kernel* find_kernel(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(kKernels), std::end(kKernels), [&](const Kernel& k) { return k.name.text == name; });
  return found == std::end(kKernels) ? nullptr : found;
}

CudaArgs prepare_cuda(const layout::Canonical& c, const plan::Decision& decision) {
  CudaArgs out;
  out.units = {static_cast<std::uint8_t>(c.src_unit), static_cast<std::uint8_t>(c.dst_unit), c.cast};
  out.kernel = find_kernel(decision.chosen.kernel.text);  // null for a copy of nothing
  if (out.kernel != nullptr) out.kernel->prepare(c, decision.chosen, out);
  return out;
}

}  // namespace restride::cuda
