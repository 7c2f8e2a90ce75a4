// The pieces of channels's kernels, each by its arguments.
#pragma once

#include "src/cpu/channels/args.h"

namespace restride::cpu {

struct TraceBase;

void trace_kernel(const ChannelsArgs& a, const TraceBase& on);

}  // namespace restride::cpu
