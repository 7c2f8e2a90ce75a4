// How a copy is shared among threads: how many are worth it, and in which pieces.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/cpu/args.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

/// Bytes of data below which another thread costs more than it brings.
inline constexpr std::int64_t kBytesPerThread = 256 << 10;
/// Tasks that a copy worth several threads is cut into, where nothing else says how.
inline constexpr std::int64_t kTasksToShare = 16;
/// A thread's share is claimed in so many pieces, so that another can take over what it has not begun; of smaller
/// copies in fewer, because a piece is a start of the kernel.
inline constexpr int kPiecesEach = 4;
inline constexpr std::int64_t kBytesPerPiece = 128 << 10;

/// Threads worth using for this much data: none for small work.
int threads_that_pay(const layout::Canonical& c, int allowed) noexcept;

/// The tasks of a plan in pieces for threads to claim. Each is of one length in groups of `align_tasks`, or one longer.
struct Pieces {
  std::int64_t tasks = 0;
  std::int64_t align_tasks = 1;
  std::int64_t groups = 0;
  int count = 1;

  /// The first task of piece i; the end of the one before.
  std::int64_t begin(int i) const noexcept {
    return std::min((groups / count * i + std::min<std::int64_t>(i, groups % count)) * align_tasks, tasks);
  }
};
/// `wanted` pieces, or fewer where there are not so many groups.
Pieces pieces_of(const CommonArgs& a, std::int64_t wanted) noexcept;

/// How much help work is worth.
struct Work {
  int threads = 1;
  std::int64_t pieces = 1;  ///< to cut it into
};
/// Of `copies` copies; no more threads than are allowed.
Work work_of(const layout::Canonical& c, double copies, int allowed) noexcept;

}  // namespace restride::cpu
