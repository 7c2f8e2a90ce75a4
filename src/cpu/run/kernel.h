// Moves: one run, contiguous on both sides, with or without a cast.
// Applies when: the canonical form has no mode left, or one whose strides are the units.
// Task map: task t is unit t; a call moves units [begin, end). Of many pairs, two short runs at a time.
// Buffers: streamed, an open line for each of 16 places in turn, and 1 KiB for units on their way through a cast. With
//   `near`, run/pieces is chosen instead.
// Traffic: every line read once; written once without being read first when the output is streamed.
// Source and measured: bench/results, family run.
#pragma once

#include "src/cpu/run/args.h"

namespace restride::cpu {

/// The kernel of the instruction set in use, and what moves many pairs by it.
KernelCode<RunArgs> run_kernel() noexcept;
PairsCode run_pairs_kernel() noexcept;

}  // namespace restride::cpu
