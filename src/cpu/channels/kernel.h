// Moves: points whose 2 to 8 channels lie side by side into one plane a channel, and back.
// Applies when: the channels' mode is dense on one side, and the points' is dense on the other and follows the channels
//   on the one. In src the channels may run downwards, or be the first of up to 8.
// Task map: task t is a piece of a run of points: kChannelPieceBytes of each plane.
// Buffers: none; with a cast, a piece of every plane, so that the conversion meets dense runs.
// Traffic: every line of both sides once. Up to 4 channels that stay in the caches are loaded or stored interleaved, so
//   that an image of a few KiB pays no start; else vectors are permuted, and whole lines leave past the caches.
// Source and measured: Highway's LoadInterleaved and StoreInterleaved; permutes of AVX-512. bench/results, classes
//   "small", "images" and "records".
#pragma once

#include "src/cpu/channels/args.h"

namespace restride::cpu {

inline constexpr std::int64_t kChannelPieceBytes = 32768;  ///< of a task: about as many of each plane

inline constexpr std::int64_t kMaxChannels = 8;
inline constexpr std::int64_t kMostAtOnce = 4;  ///< that every processor loads or stores interleaved

/// The kernels of the instruction set in use: `join` when the interleaved side is dst.
KernelCode<ChannelsArgs> channels_kernel(bool join) noexcept;

}  // namespace restride::cpu
