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
  const std::int64_t run_bytes = shape.points(b.dst_run) * a.dst_unit;
  const std::int64_t column_bytes = a.column_pitch != 0 ? rows * a.dst_unit : run_bytes;  // of what lies densely
  for (std::int64_t r = 0; r < shape.points(b.dst_runs); ++r) {
    const auto run = static_cast<std::int32_t>(r);
    const auto place = [&](std::int64_t byte) {
      return r * a.run_pitch + byte / column_bytes * a.column_pitch + byte % column_bytes;
    };
    for (std::int64_t byte = 0; byte < run_bytes; byte += column_bytes) t.take(run, run, place(byte), column_bytes);
    t.store(run, run, dst + tables->dst_runs[r], run_bytes);
    for (std::int64_t byte = 0; byte < run_bytes && !t.full(); byte += a.dst_unit)
      t.unit_staged(run, dst + tables->dst_runs[r] + byte, place(byte));
  }
}

}  // namespace restride::cpu
