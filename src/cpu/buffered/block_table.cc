#include "src/cpu/buffered/block_table.h"

#include <algorithm>

namespace restride::cpu {
namespace {

/// A list's offsets. The mode that may be cut is its last, so that a cut block's are the first of a whole one's.
template <class Stride>
void fill_list(const BufferedBlock& b, const BufferedBlock::List& list, const Stride& stride,
               std::int64_t* out) noexcept {
  std::int64_t n = 1;
  out[0] = 0;
  for (int k = 0; k < list.size; ++k) {
    const BlockMode& m = b.modes[list.modes[k]];
    const std::int64_t step = stride(m);
    std::int64_t i = 1;
    if (n == 1)  // two sums a step, for each waits for the one before it
      for (std::int64_t sum = step; i + 2 <= m.points; i += 2, sum += 2 * step) {
        out[i] = sum;
        out[i + 1] = sum + step;
      }
    for (; i < m.points; ++i)
      for (std::int64_t j = 0; j < n; ++j) out[i * n + j] = out[j] + i * step;
    n *= m.points;
  }
}

}  // namespace

BlockShape::BlockShape(const BufferedArgs& a, const NestCursor& at) noexcept {
  std::int64_t part[BufferedBlock::kCapacity + 2];
  for (int i = 0; i < a.block.walked_modes; ++i) {
    const WalkedMode& w = a.block.walked[i];
    part[i] = (w.inner < 0 ? 0 : at.index(w.inner)) + (w.outer < 0 ? 0 : at.index(w.outer) * w.step);
    if (part[i] >= w.count) empty_ = true;
  }
  for (int i = 0; i < a.block.rank; ++i) {
    const BlockMode& m = a.block.modes[i];
    points_[i] = m.parts < 0 ? m.points : std::min(m.points, m.extent - part[m.parts] * m.points);
  }
}

std::int64_t BlockShape::points(const BufferedBlock::List& list) const noexcept {
  std::int64_t n = 1;
  for (int i = 0; i < list.size; ++i) n *= points_[list.modes[i]];
  return n;
}

BlockTables::BlockTables(const BufferedBlock& b, bool buffered) noexcept {
  const auto in_src = [](const BlockMode& m) { return m.src_stride; };
  const auto in_dst = [](const BlockMode& m) { return m.dst_stride; };
  const auto put = [=](const BlockMode& m) { return buffered ? m.out_stride : m.dst_stride; };
  fill_list(b, b.rows, in_src, rows);
  for (int i = 0; i < b.rows.size; ++i) whole_rows *= b.modes[b.rows.modes[i]].points;
  std::fill_n(rows + whole_rows, kBufferedVectorRows, rows[whole_rows - 1]);
  fill_list(b, b.cols, put, cols);
  inner = b.others;
  if (inner.size > 0) {  // both modes that may be cut may be among the others: the last one is walked by itself
    outer = inner.modes[--inner.size];
    outer_src = in_src(b.modes[outer]);
    outer_put = put(b.modes[outer]);
  }
  fill_list(b, inner, in_src, others_src);
  fill_list(b, inner, put, others_put);
  fill_list(b, b.dst_runs, in_dst, dst_runs);
  fill_list(b, b.src_runs, in_src, src_runs);
}

}  // namespace restride::cpu
