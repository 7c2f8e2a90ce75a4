#include "src/cpu/rows/prepare.h"

#include <algorithm>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/cpu/prepare.h"
#include "src/cpu/records.h"
#include "src/cpu/rows/kernel.h"
#include "src/cpu/rows/records.h"

namespace restride::cpu {

using layout::Canonical;
using plan::ParamId;

namespace {

RowOrder order_of(const Canonical& c, const plan::Candidate& k) {
  const auto order = static_cast<RowOrder>(k.get(ParamId::kOrder));
  if (k.get(ParamId::kOrder) != 0 && k.get(ParamId::kOrder) != static_cast<std::int64_t>(RowOrder::kSrc)) refuse(k, c);
  return order;
}

}  // namespace

void set_rows(const Canonical& c, RowOrder order, RowsArgs* a) {
  a->units = c.modes[0].extent;
  a->row_src_stride = c.modes[0].src_stride;
  a->row_dst_stride = c.modes[0].dst_stride;
  const std::int64_t cell = std::max({std::abs(a->row_src_stride), std::int64_t{c.src_unit}, std::int64_t{c.dst_unit}});
  const std::int64_t piece =
      a->near && cell <= kMostPrefetchedCell ? kNearPieceBytes / cell : kRowPieceBytes / c.dst_unit;
  if (a->units >= 2 * piece) {  // so that threads can share even one row
    const std::int64_t pieces = ceil_div(a->units, piece);
    a->last_units = a->units - (pieces - 1) * piece;
    a->units = piece;
    a->nest.push({pieces, piece * a->row_dst_stride, piece * a->row_src_stride});
  }
  if (c.modes.size() > 1) order_rows(c, order, &a->nest);
  a->tasks = a->nest.points();
}

RowsArgs prepare_rows_units(const Canonical& c, const plan::Candidate& k, int) {
  if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) refuse(k, c);
  RowsArgs a;
  set_common(c, k, &a);
  a.kernel = rows_kernel();
  set_rows(c, order_of(c, k), &a);
  return a;
}

RowsArgs prepare_rows_records(const Canonical& c, const plan::Candidate& k, int) {
  Records records;
  if (!row_records(c, &records) || records.copy.dst_unit != k.get(ParamId::kRecordBytes)) refuse(k, c);
  RowsArgs a;
  set_common(records.copy, k, &a);
  a.kernel = record_rows_kernel();
  set_rows(records.copy, order_of(c, k), &a);
  a.record = records.shape();
  a.src_shift += records.src_shift();
  return a;
}

}  // namespace restride::cpu
