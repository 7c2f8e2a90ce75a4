// In which order a CPU kernel walks the modes of a copy.
#pragma once

#include "src/kernels/cpu/args.h"
#include "src/layout/canonical.h"

namespace restride::launch {

/// Walks a mode the other way round, so that src ascends.
void turn(layout::CopyMode* mode, kernels::cpu::CpuArgs* a);

/// The order of rows: as they lie in src; or dst's, unless that jumps a page a row in src: then some rows of dst's next
/// mode alternate with src's own next mode, so that pages on both sides are used up while the TLB has them.
void order_rows(const layout::Canonical& c, bool as_in_src, kernels::cpu::Nest* nest);

}  // namespace restride::launch
