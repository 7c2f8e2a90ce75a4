// A packed tile as its kernel wants it, from the modes that the plan puts inside.
#pragma once

#include "src/cpu/args.h"
#include "src/cpu/sets.h"

namespace restride::cpu {

/// Fills `packed` and `nest`, and turns the modes that src's run walks downwards.
void fill_packed(const layout::Canonical& c, const PackedSets& sets, CpuArgs* a);

}  // namespace restride::cpu
