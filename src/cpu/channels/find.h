// Interleaved channels against planes: when a copy is one, and which of its modes are which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cpu/channels/kernel.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

inline constexpr std::int64_t kMinChannelPoints = 32;  ///< of a plane's run; below that vectors would not be full

/// A copy between points whose channels lie side by side and one plane a channel.
struct Channels {
  std::size_t channels = 0;  ///< the canonical mode of the channels: 2 to kMaxChannels, dense on the interleaved side
  std::size_t points = 0;    ///< the mode that a plane is dense in, and interleaved points lie side by side in
  std::int64_t cell = 0;     ///< units of an interleaved point: in src it may have more than the channels
  bool together = false;     ///< dst holds the interleaved points; else src does, in src perhaps last channel first
};

/// False where the innermost modes are no such pair, or where channels are wider than 8 bytes.
bool find_channels(const layout::Canonical& c, Channels* out);

}  // namespace restride::cpu
