// Moves: one run, contiguous on both sides, with or without a cast.
// Applies when: the canonical form has no mode left, or one whose strides are the units.
// Task map: task t is unit t; a call moves units [begin, end).
// Buffers: streamed, an open line for each of 16 places in turn, and 1 KiB for units on their way through a cast. With
//   `near` the launcher takes the kernel of rows instead.
// Traffic: every line read once; written once without being read first when the output is streamed.
// Source and measured: bench/results, family run.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// Expects units, dst_unit, src_unit, row_src_stride (the unit), stream, cast_run. The kernel of the
/// instruction set in use.
CpuKernel run_kernel() noexcept;

}  // namespace restride::cpu
