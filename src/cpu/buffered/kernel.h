// Moves: permutations of short modes, and transposes whose columns are short: a block of dst, some long dense runs made
//   of some long dense runs of src, is put together in the cache.
// Applies when: dst has a dense mode, and src another one. Modes that continue either are in the block, too, until its
//   runs are long or the block is full; the last mode of a run may be in it in part.
// Task map: task t is block t of the outer nest; blocks at the end of a mode that is in them in part may have less.
// Buffers: two blocks, one that is made and one that leaves; tables of where rows and columns start. Rows are read
//   where they are, unless there is a cast or they would meet in the cache: then pieces of them are staged.
// Traffic: runs of many lines on either side; a destination line that a run ends in waits for the next block where that
//   goes on with it, all leave past the caches.
// Source and measured: the transposes are tile's; the ends of rows and columns are moved twice rather than in part.
//   bench/results, classes "medium matrices" and "permutations".
#pragma once

#include "src/cpu/buffered/args.h"

namespace restride::cpu {

/// The kernel of the instruction set in use.
KernelCode<BufferedArgs> buffered_kernel() noexcept;

}  // namespace restride::cpu
