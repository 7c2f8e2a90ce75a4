// Moves: transposes whose columns are short: a block of dst, dense across many columns, is put together in the cache.
// Applies when: dst's fastest modes (the row set) and src's (the column set) are disjoint, and everything from the
//   first to the last of them in dst is dense there. So a block of columns is one run of dst, however its columns
//   begin and end.
// Task map: task t is block t of the outer nest; the outermost mode of a block may be cut, its last block is shorter.
// Buffers: a piece of source rows, converted on the way in if there is a cast, and the block itself.
// Traffic: every source line once, as a block's rows and those of its neighbours follow each other; every destination
//   line once and whole, past the caches, as blocks follow each other.
// Source and measured: the transposes are tile's; the ends of rows and columns are moved twice rather than in part.
//   bench/results, class "medium matrices".
#pragma once

#include "src/kernels/cpu/args.h"

namespace restride::kernels::cpu {

inline constexpr std::int64_t kMaxBufferedBytes = 32 << 10;  ///< of a block

/// Expects row_set, col_set, block_set (the block's other modes), nest (outside), rows, cols, cut, block_bytes, stream,
/// cast_run. The kernel of the instruction set in use for this unit.
CpuKernel buffered_kernel(int dst_unit) noexcept;

}  // namespace restride::kernels::cpu
