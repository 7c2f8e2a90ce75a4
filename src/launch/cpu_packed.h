// A packed tile as its kernel wants it, from the modes that the plan puts inside.
#pragma once

#include "src/kernels/cpu/args.h"
#include "src/plan/cpu_sets.h"

namespace restride::launch {

/// Fills `packed` and `nest`, and turns the modes that src's run walks downwards.
void fill_packed(const layout::Canonical& c, const plan::PackedSets& sets, kernels::cpu::CpuArgs* a);

}  // namespace restride::launch
