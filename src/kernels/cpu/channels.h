// Moves: points whose 2 to 4 channels lie side by side into one plane a channel, and back.
// Applies when: the channels' mode is dense on one side, and the points' is dense on the other and follows the channels
//   on the one. In src the channels may run downwards. For outputs that stay in the caches.
// Task map: task t is a piece of kChannelPoints points of a run of the outer nest.
// Buffers: none; with a cast, a piece of every plane, so that the conversion meets dense runs.
// Traffic: every line of both sides once. Nothing is tabled or staged, so an image of a few KiB pays no start.
// Source and measured: Highway's LoadInterleaved and StoreInterleaved. bench/results, class "small images".
#pragma once

#include "src/kernels/cpu/args.h"

namespace restride::kernels::cpu {

inline constexpr std::int64_t kChannelPoints = 8192;  ///< of a task

inline constexpr int kMaxChannels = 4;

/// Expects col_set (the channels' one mode), nest (pieces of the points first), units (points of a piece), last_units,
/// cast_run. The kernel of the instruction set in use; `together` when the interleaved side is dst.
CpuKernel channels_kernel(bool together) noexcept;

}  // namespace restride::kernels::cpu
