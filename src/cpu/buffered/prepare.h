// A buffered block as its kernel wants it, from the modes that the plan puts inside.
#pragma once

#include "src/cpu/args.h"
#include "src/cpu/buffered/bid.h"

namespace restride::cpu {

/// Fills `block` and `nest`.
void fill_block(const layout::Canonical& c, const BufferedSets& sets, CpuArgs* a);

}  // namespace restride::cpu
