// A buffered block as its kernel wants it, from the modes that the plan puts inside.
#pragma once

#include "src/kernels/cpu/args.h"
#include "src/plan/cpu_buffered.h"

namespace restride::launch {

/// Fills `block` and `nest`.
void fill_block(const layout::Canonical& c, const plan::BufferedSets& sets, kernels::cpu::CpuArgs* a);

}  // namespace restride::launch
