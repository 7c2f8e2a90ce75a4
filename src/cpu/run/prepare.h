// The family run: its bids, and the arguments of its kernels.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/rows/args.h"
#include "src/cpu/run/args.h"

namespace restride::cpu {

/// True where the copy is one run on both sides.
bool is_run(const layout::Canonical& c);

/// run/units, run/pieces.
void bid_run(const Question& q, Bid* bids);
RunArgs prepare_run_units(const layout::Canonical& c, const plan::Candidate& k, int threads);
/// The pieces of one row, moved by the kernel of rows/units.
RowsArgs prepare_run_pieces(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
