// Moves: rows dense in dst, whose source units lie in one stride: dense, reversed, spread out or repeated.
// Applies when: the innermost mode is dense in dst. Rows may be as short as a few bytes.
// Task map: task t is row t of the outer nest, whose order the planner chooses; rows that follow each other in dst
//   and in time share their lines.
// Buffers: one open line; 2 KiB where units are converted or picked before they are written.
// Traffic: source lines once if rows fill them; destination lines once, past the caches when `stream`.
// Source and measured: pitched copies of memcpy2D; the open line is ours. bench/results, class "rows".
#pragma once

#include "src/kernels/cpu/args.h"

namespace restride::kernels::cpu {

/// Expects units (of a row), row_src_stride, nest (rows), stream, cast_run, cast_strided.
CpuKernel rows_kernel() noexcept;

}  // namespace restride::kernels::cpu
