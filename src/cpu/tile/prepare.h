// The family tile: its bids, and the arguments of its kernels.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// tile/units, tile/records, tile/matrices.
void bid_tile(const Question& q, Bid* bids);
TileArgs prepare_tile_units(const layout::Canonical& c, const plan::Candidate& k, int threads);
TileArgs prepare_tile_records(const layout::Canonical& c, const plan::Candidate& k, int threads);
MatrixArgs prepare_tile_matrices(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
