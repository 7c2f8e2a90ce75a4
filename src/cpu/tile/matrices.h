// Moves: matrices that stay in the caches, straight from src to dst: nothing staged, nothing tabled.
// Applies when: as for kernel.h, with one mode of rows and one of columns, 16 bytes of each at least, without a cast,
//   and a dst that does not leave the caches.
// Task map: task t is a matrix, or a band of its columns.
// Buffers: none. The last block of rows or columns starts early rather than short.
// Traffic: within the caches.
// Source and measured: the blocks of kernel.h. bench/results, class "small".
#pragma once

#include "src/cpu/tile/args.h"

namespace restride::cpu {

/// The kernel of the instruction set in use for this unit.
KernelCode<MatrixArgs> matrices_kernel(int unit) noexcept;

}  // namespace restride::cpu
