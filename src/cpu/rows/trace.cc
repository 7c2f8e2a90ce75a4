// What the kernels of rows do, and run/pieces: some rows (or pieces of rows) in the order in which they are walked.
#include <algorithm>
#include <cstdlib>
#include <string>

// The rules of prefetching are compiled here for one instruction set; they have no vectors.
#include "src/cpu/rows/prefetch-inl.h"
#include "src/cpu/trace.h"

namespace restride::cpu {
namespace {

/// How many rows ahead of its own a row prefetches, and how many bytes of them: rows_in_order, short_rows, line_rows.
struct RowsAhead {
  std::int64_t rows = 0;  ///< 0: none are prefetched
  std::int64_t most_bytes = 0;
};

RowsAhead rows_ahead(const RowsArgs& a) {
  const std::int64_t stride = std::abs(a.row_src_stride), span = (a.units - 1) * stride + a.src_unit;
  switch (a.loop) {
    case RowLoop::kInTurns:
    case RowLoop::kCached: return {};
    case RowLoop::kLines:
      if (!dst_divides(nullptr, a.nest, 64)) break;
      if (a.nest.rank() == 0 || a.nest[0].src_stride == span) return {};
      return {HWY_NAMESPACE::near_rows_ahead(span), INT64_MAX};
    case RowLoop::kShort:
    case RowLoop::kInOrder: break;
  }
  if (a.near && a.stream && stride <= kMostPrefetchedCell) return {HWY_NAMESPACE::near_rows_ahead(span), INT64_MAX};
  if (!a.near && a.stream && stride == a.src_unit)
    return {RowBatch::kMost, HWY_NAMESPACE::RowPrefetcher::kMostFarBytes};
  return {};
}

}  // namespace

void trace_kernel(const RowsArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  const std::int64_t row_bytes = a.units * a.dst_unit;
  const std::int64_t each = std::clamp<std::int64_t>(4096 / row_bytes, 4, 16);
  t.piece_is = "rows";
  on.set_pieces((a.tasks + each - 1) / each);
  const std::int64_t first = t.piece * each, last = std::min(first + each, a.tasks);
  const bool records = a.record.bytes != 0;
  const int part = records ? a.record.unit_bytes : a.dst_unit, parts = a.dst_unit / part;
  if (records) t.src_unit = t.dst_unit = part;
  const RowsAhead ahead = records ? RowsAhead{} : rows_ahead(a);
  if (!records) t.vector_bytes = store_vector_bytes();
  if (ahead.rows > 0)
    t.ahead_is = "with each row one that is " + std::to_string(ahead.rows) + " rows behind it, " + cache_of(a.near);
  NestCursor at(a.nest, first);
  std::int32_t number = 0;
  for (std::int64_t task = first; task < last; ++task, at.next(), ++number) {
    const std::int64_t units = a.last_units != 0 && at.index(0) == a.last_piece ? a.last_units : a.units;
    t.units_of_piece += units * parts;
    if (ahead.rows > 0 && task + ahead.rows < a.tasks) {
      const NestCursor behind(a.nest, task + ahead.rows);
      const std::int64_t bytes = (units - 1) * std::abs(a.row_src_stride) + a.src_unit;
      const std::int64_t low = on.src + behind.src() - (a.row_src_stride < 0 ? bytes - a.src_unit : 0);
      for (std::int64_t b = low - ((low % 64) + 64) % 64; b < low + std::min(bytes, ahead.most_bytes); b += 64)
        on.prefetch(b);
    }
    const std::int64_t dst = on.dst + at.dst(), src = on.src + at.src();
    const std::int64_t read = records ? a.dst_unit : a.src_unit;  // of a unit
    const bool dense_src = a.row_src_stride == read, dense_dst = a.row_dst_stride == a.dst_unit || !records;
    const std::int64_t dst_step = records ? a.row_dst_stride : a.dst_unit;
    if (dense_src) t.load(number, number, src, units * read);
    if (dense_dst) t.store(number, number, dst, units * a.dst_unit);
    for (std::int64_t u = 0; u < units && !t.full(); ++u) {
      const std::int64_t to = dst + u * dst_step, from = src + u * a.row_src_stride;
      if (!dense_src) t.load(number, number, from, read);
      if (!dense_dst) t.store(number, number, to, a.dst_unit);
      for (int p = 0; p < parts; ++p)
        t.unit(number, to + p * part, from + (a.record.reversed ? parts - 1 - p : p) * part);
    }
  }
}

}  // namespace restride::cpu
