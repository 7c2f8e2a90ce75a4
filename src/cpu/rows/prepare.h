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

/// Rows as one loop walks them: long ones in pieces.
struct RowPieces {
  std::int64_t units = 0;       ///< of a row or a piece of one
  std::int64_t pieces = 1;      ///< of a row
  std::int64_t last_units = 0;  ///< of a row's last piece; 0: rows are not cut
};
RowPieces row_pieces(const layout::Canonical& c, bool near) noexcept;

/// The loop for the rows of `c`.
RowLoop loop_of(const layout::Canonical& c, bool stream, bool near) noexcept;

/// Takes the loop from the parameters of rows/units or run/pieces. Errors: ParseError where it cannot walk such rows.
void take_loop(const layout::Canonical& c, const plan::Candidate& k, RowsArgs* a);

/// Rows of `c`, whose units are canonical ones or records, and their pieces where they are long. `a` has what is
/// common.
void set_rows(const layout::Canonical& c, RowOrder order, RowsArgs* a);

}  // namespace restride::cpu
