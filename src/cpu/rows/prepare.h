// The family rows: its bids, and the arguments of its kernels.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/rows/args.h"
#include "src/cpu/rows/order.h"

namespace restride::cpu {

/// rows/units, rows/records.
void bid_rows(const Question& q, Bid* bids);
RowsArgs prepare_rows_units(const layout::Canonical& c, const plan::Candidate& k, int threads);
RowsArgs prepare_rows_records(const layout::Canonical& c, const plan::Candidate& k, int threads);

/// Rows of `c`, whose units are canonical ones or records, and their pieces where they are long. `a` has what is
/// common.
void set_rows(const layout::Canonical& c, RowOrder order, RowsArgs* a);

}  // namespace restride::cpu
