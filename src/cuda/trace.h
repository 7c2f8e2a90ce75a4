// What CUDA's kernels do, access by access, told by the index maps that they run by: for drawings and tests. Host only;
// compiled into restride_trace, not into the library.
#pragma once

#include <cstdint>

#include "src/cuda/gather/trace.h"
#include "src/cuda/launch.h"
#include "src/cuda/packed/trace.h"
#include "src/cuda/rows/trace.h"
#include "src/cuda/tile/trace.h"
#include "src/plan/trace.h"

namespace restride::cuda {

/// Piece number `piece` of a prepared launch: the tile of a kernel that has tiles, else what a block moves at once.
/// Data pointers are taken to lie on 128 bytes. `args` names a kernel; a piece that the launch lacks counts as its
/// last.
plan::Trace trace(const CudaArgs& args, std::int64_t piece);

/// Tells how many pieces there are; the number that was asked for is at most the last's.
inline void set_pieces(plan::Trace& t, std::int64_t pieces, std::int64_t blocks, std::int32_t threads) {
  t.pieces = pieces;
  t.blocks = blocks;
  t.threads = threads;
  if (t.piece >= pieces) t.piece = pieces - 1;
}

/// A word of `bytes` at `at` of which only what lies in [first, last) is read, into the stage.
inline void load_word_staged(plan::Trace& t, std::int32_t step, std::int32_t thread, std::int64_t at,
                             std::int64_t bytes, std::int64_t first, std::int64_t last, std::int64_t stage) {
  const std::int64_t from = at < first ? first : at, to = at + bytes > last ? last : at + bytes;
  if (from < to) t.load_staged(step, thread, from, to - from, stage + (from - at));
}

}  // namespace restride::cuda
