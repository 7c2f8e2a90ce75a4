// What the kernels of channels are given.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// A task is a piece of a run of points.
struct ChannelsArgs : CommonArgs {
  KernelCode<ChannelsArgs> kernel = nullptr;
  layout::CopyMode channels;          ///< upwards in src
  std::int64_t point_src_stride = 0;  ///< bytes from point to point in src
  std::int64_t points = 0;            ///< of a piece
  std::int64_t last_points = 0;       ///< of a run's last piece
  Nest nest;                          ///< pieces of a run first
};

}  // namespace restride::cpu
