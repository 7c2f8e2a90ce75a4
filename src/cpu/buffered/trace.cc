// What buffered/blocks does: a block is put together, rows of src into columns, in a buffer from which whole runs of
// dst leave, or in dst itself where that stays in the caches.
#include <memory>

#include "src/cpu/buffered/block_table.h"
#include "src/cpu/trace.h"

namespace restride::cpu {

void trace_kernel(const BufferedArgs& a, const TraceBase& on) {
  plan::Trace& t = on.t;
  t.piece_is = "block";
  on.set_pieces(a.tasks);
  const BufferedBlock& b = a.block;
  const auto tables = std::make_unique<BlockTables>(b, a.stream);
  const NestCursor at(a.nest, t.piece);
  const BlockShape shape(a, at);
  if (shape.empty()) return;  // behind a mode's end
  const std::int64_t dst = on.dst + at.dst(), src = on.src + at.src();
  const std::int64_t rows = shape.points(b.rows), cols = shape.points(b.cols), inner = shape.points(tables->inner);
  const std::int64_t outer = tables->outer < 0 ? 1 : shape.points(tables->outer);
  t.units_of_piece = rows * cols * inner * outer;
  std::int32_t number = 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t from = src + o * tables->outer_src + tables->others_src[i];
      const std::int64_t to = o * tables->outer_put + tables->others_put[i];
      for (std::int64_t r = 0; r < rows; ++r, ++number) {
        t.load(number, number, from + tables->rows[r], cols * a.src_unit);
        for (std::int64_t c = 0; c < cols; ++c) {
          const std::int64_t put = to + tables->cols[c] + r * a.dst_unit,
                             unit = from + tables->rows[r] + c * a.src_unit;
          if (a.stream)
            t.remember(put, a.dst_unit, unit, number);
          else if (!t.full())
            t.unit(number, dst + put, unit);
        }
      }
      for (std::int64_t c = 0; c < cols; ++c) {
        const std::int64_t column = to + tables->cols[c];
        if (a.stream)
          t.accesses.push_back({plan::Space::kStage, true, static_cast<std::int32_t>(c), static_cast<std::int32_t>(c),
                                column, static_cast<std::int32_t>(rows * a.dst_unit)});
        else
          t.store(static_cast<std::int32_t>(c), static_cast<std::int32_t>(c), dst + column, rows * a.dst_unit);
      }
    }
  if (!a.stream) return;
  t.vector_bytes = store_vector_bytes();
  std::int64_t pitch = a.dst_unit;
  for (int i = 0; i < b.dst_run.size; ++i) pitch *= b.modes[b.dst_run.modes[i]].points;
  const std::int64_t run_units = shape.points(b.dst_run);
  for (std::int64_t r = 0; r < shape.points(b.dst_runs); ++r) {
    const auto run = static_cast<std::int32_t>(r);
    t.take(run, run, r * pitch, run_units * a.dst_unit);
    t.store(run, run, dst + tables->dst_runs[r], run_units * a.dst_unit);
    for (std::int64_t u = 0; u < run_units && !t.full(); ++u)
      t.unit_staged(run, dst + tables->dst_runs[r] + u * a.dst_unit, r * pitch + u * a.dst_unit);
  }
}

}  // namespace restride::cpu
