#include "src/cpu/rows/prepare.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

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

/// Reverses the modes of the nest that go down in src: the prefetcher follows what is read upwards, and dst may be
/// written in any order.
void read_upwards(RowsArgs* a) {
  for (layout::CopyMode& m : a->nest) {
    if (m.src_stride >= 0) continue;
    a->dst_shift += (m.extent - 1) * m.dst_stride;
    a->src_shift += (m.extent - 1) * m.src_stride;
    m.dst_stride = -m.dst_stride;
    m.src_stride = -m.src_stride;
  }
}

}  // namespace

RowPieces row_pieces(const Canonical& c, bool near) noexcept {
  const std::int64_t units = c.modes[0].extent;
  const std::int64_t cell =
      std::max({std::abs(c.modes[0].src_stride), std::int64_t{c.src_unit}, std::int64_t{c.dst_unit}});
  std::int64_t piece = near && cell <= kMostPrefetchedCell ? kNearPieceBytes / cell : kRowPieceBytes / c.dst_unit;
  const std::int64_t line_units = kLineBytes / std::gcd(kLineBytes, std::abs(c.modes[0].dst_stride));
  if (piece > line_units) piece -= piece % line_units;  // whole lines of dst
  if (units < 2 * piece) return {units};
  const std::int64_t pieces = ceil_div(units, piece);  // so that threads can share even one row
  return {piece, pieces, units - (pieces - 1) * piece};
}

RowLoop loop_of(const Canonical& c, bool stream, bool near) noexcept {
  const RowPieces rows = row_pieces(c, near);
  const bool moved = !c.cast && c.modes[0].src_stride == c.src_unit && rows.last_units == 0;
  const std::int64_t bytes = rows.units * c.dst_unit, wider = rows.units * std::max(c.src_unit, c.dst_unit);
  if (stream && !near && bytes >= kRowInTurnsBytes) return RowLoop::kInTurns;
  if (!stream && moved) return RowLoop::kCached;
  if (stream && near && moved && bytes <= kLineRowBytes && bytes % kLineBytes == 0) return RowLoop::kLines;
  // Rows of several whole lines leave past the caches as well by themselves.
  const bool lines = stream && !c.cast && wider > kLineBytes && wider % kLineBytes == 0;
  return wider <= kShortRowBytes && rows.last_units == 0 && !lines ? RowLoop::kShort : RowLoop::kInOrder;
}

void take_loop(const Canonical& c, const plan::Candidate& k, RowsArgs* a) {
  const std::int64_t value = k.get(ParamId::kLoop);
  if (value < 0 || value > static_cast<std::int64_t>(RowLoop::kShort)) refuse(k, c);
  a->loop = static_cast<RowLoop>(value);
  const bool moved = !c.cast && a->row_src_stride == a->src_unit && a->last_units == 0;
  const std::int64_t bytes = a->units * a->dst_unit, wider = a->units * std::max(a->src_unit, a->dst_unit);
  const auto fits = [&] {
    switch (a->loop) {
      case RowLoop::kInOrder: return true;
      case RowLoop::kInTurns: return a->stream;
      case RowLoop::kCached: return moved && !a->stream;
      case RowLoop::kLines: return moved && a->stream && bytes % kLineBytes == 0;
      case RowLoop::kShort: return wider <= kShortRowBytes && a->last_units == 0;
    }
    return false;
  };
  if (!fits()) refuse(k, c);
}

void set_rows(const Canonical& c, RowOrder order, RowsArgs* a) {
  const RowPieces rows = row_pieces(c, a->near);
  a->units = rows.units;
  a->last_units = rows.last_units;
  a->row_src_stride = c.modes[0].src_stride;
  a->row_dst_stride = c.modes[0].dst_stride;
  if (rows.pieces > 1) a->nest.push({rows.pieces, rows.units * a->row_dst_stride, rows.units * a->row_src_stride});
  if (c.modes.size() > 1) order_rows(c, order, &a->nest);
  a->last_piece = order == RowOrder::kSrc && a->row_src_stride < 0 ? 0 : rows.pieces - 1;
  if (order == RowOrder::kSrc) read_upwards(a);
  a->tasks = a->nest.points();
}

RowsArgs prepare_rows_units(const Canonical& c, const plan::Candidate& k, int) {
  if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) refuse(k, c);
  RowsArgs a;
  set_common(c, k, &a);
  a.kernel = rows_kernel();
  set_rows(c, order_of(c, k), &a);
  take_loop(c, k, &a);
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
  const std::int64_t ahead = k.get(ParamId::kAhead, 1);  // plans of earlier versions do not say
  if (ahead < 0 || ahead > 1) refuse(k, c);
  a.ahead = ahead != 0;
  a.src_shift += records.src_shift();
  return a;
}

}  // namespace restride::cpu
