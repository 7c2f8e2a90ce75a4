#include "src/cpu/families.h"

#include <algorithm>
#include <iterator>

#include "src/base/checked.h"
#include "src/cpu/buffered/prepare.h"
#include "src/cpu/channels/prepare.h"
#include "src/cpu/gather/prepare.h"
#include "src/cpu/packed/prepare.h"
#include "src/cpu/prepare.h"
#include "src/cpu/rows/prepare.h"
#include "src/cpu/run/prepare.h"
#include "src/cpu/tile/prepare.h"

namespace restride::cpu {
namespace {

using plan::Family;

/// `kPrepare` makes the arguments of a family.
template <auto kPrepare>
CpuArgs made_by(const layout::Canonical& c, const plan::Candidate& k, int threads) {
  return CpuArgs(kPrepare(c, k, threads));
}

}  // namespace

// Of bids that take the same time, the first wins.
const Kernel kKernels[kKernelCount] = {
    {{Family::kRun, "run/units"}, bid_run, made_by<prepare_run_units>},
    {{Family::kRun, "run/pieces"}, bid_run, made_by<prepare_run_pieces>},
    {{Family::kRows, "rows/units"}, bid_rows, made_by<prepare_rows_units>},
    {{Family::kRows, "rows/records"}, bid_rows, made_by<prepare_rows_records>},
    {{Family::kPacked, "packed/staged"}, bid_packed, made_by<prepare_packed>},
    {{Family::kTile, "tile/units"}, bid_tile, made_by<prepare_tile_units>},
    {{Family::kTile, "tile/records"}, bid_tile, made_by<prepare_tile_records>},
    {{Family::kTile, "tile/matrices"}, bid_tile, made_by<prepare_tile_matrices>},
    {{Family::kBuffered, "buffered/blocks"}, bid_buffered, made_by<prepare_buffered>},
    {{Family::kChannels, "channels/split"}, bid_channels, made_by<prepare_channels_split>},
    {{Family::kChannels, "channels/join"}, bid_channels, made_by<prepare_channels_join>},
    {{Family::kGather, "gather/units"}, bid_gather, made_by<prepare_gather>},
};

CpuArgs prepare_cpu(const layout::Canonical& c, const plan::Decision& d, int threads) {
  if (d.chosen.kernel.family == Family::kNoop) return CpuArgs();
  const auto* row = std::find_if(std::begin(kKernels), std::end(kKernels),
                                 [&](const Kernel& k) { return k.name == d.chosen.kernel; });
  if (row == std::end(kKernels)) refuse(d.chosen, c);
  return row->prepare(c, d.chosen, threads);
}

}  // namespace restride::cpu
