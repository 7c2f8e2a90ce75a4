// Moves: rows of records: runs of a few bytes that both sides share, dense in dst, in one stride in src: pixels with
//   some channels left out or in another order (RGBA to RGB, BGR to RGB), rows mirrored, every second unit.
// Applies when: as for rows.h, with records of up to 16 bytes for units, in src 64 bytes apart at most.
// Task map: rows.h's.
// Buffers: 2 KiB of dst on their way out, and an open line; none where stores go through the caches.
// Traffic: as for rows.h. Source bytes between the records of a row are read along; bytes of dst between them are
//   neither read nor written, so their lines are not written past the caches.
// Source and measured: one shuffle, worked out once, for every vector of source (record_pick-inl.h). bench/results.
#pragma once

#include "src/cpu/rows/args.h"

namespace restride::cpu {

/// The kernel of the instruction set in use; args have their `record` set.
KernelCode<RowsArgs> record_rows_kernel() noexcept;

}  // namespace restride::cpu
