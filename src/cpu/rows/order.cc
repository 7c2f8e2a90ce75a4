#include "src/cpu/rows/order.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/costs.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

/// The largest divisor of n in [lo, hi], or 1.
std::int64_t divisor_between(std::int64_t n, std::int64_t lo, std::int64_t hi) {
  for (std::int64_t d = hi; d >= lo; --d)
    if (n % d == 0) return d;
  return 1;
}

/// How many rows of dst's next mode come before src's own next mode has its turn. Where rows are short, as few as make
/// whole lines of dst: the fewer places src is read from in turn, the better the prefetcher follows them. 1: all.
std::int64_t rows_in_turn(const Canonical& c) {
  const std::int64_t extent = c.modes[1].extent;
  const std::int64_t row_bytes = c.modes[0].extent * c.dst_unit;
  if (row_bytes < 512 && c.modes[1].dst_stride == row_bytes)
    for (std::int64_t rows = 8; rows <= std::min<std::int64_t>(64, extent / 2); ++rows)
      if (extent % rows == 0 && rows * row_bytes % 64 == 0) return rows;
  return extent > 128 ? divisor_between(extent, 16, 128) : 1;
}

}  // namespace

void order_rows(const Canonical& c, RowOrder order, Nest* nest) {
  if (order == RowOrder::kSrc) {
    const int first = nest->rank();
    for (std::size_t i = 1; i < c.modes.size(); ++i) nest->push(c.modes[i]);
    std::sort(nest->begin() + first, nest->begin() + nest->rank(),
              [](const layout::CopyMode& a, const layout::CopyMode& b) {
                return magnitude(a.src_stride) < magnitude(b.src_stride);
              });
    return;
  }
  std::size_t near = 1;  // the outer mode that moves least in src
  for (std::size_t i = 2; i < c.modes.size(); ++i)
    if (magnitude(c.modes[i].src_stride) < magnitude(c.modes[near].src_stride)) near = i;
  std::int64_t rows = 1;
  if (c.modes.size() > 2 && near != 1 && static_cast<std::int64_t>(magnitude(c.modes[1].src_stride)) >= kPageBytes / 2)
    rows = rows_in_turn(c);
  if (rows == 1) {
    for (std::size_t i = 1; i < c.modes.size(); ++i) nest->push(c.modes[i]);
    return;
  }
  const layout::CopyMode& x = c.modes[1];
  nest->push({rows, x.dst_stride, x.src_stride});
  nest->push(c.modes[near]);
  nest->push({x.extent / rows, x.dst_stride * rows, x.src_stride * rows});
  for (std::size_t i = 2; i < c.modes.size(); ++i)
    if (i != near) nest->push(c.modes[i]);
}

}  // namespace restride::cpu
