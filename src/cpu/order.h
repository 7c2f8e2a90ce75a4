// In which order a CPU kernel walks the modes of a copy.
#pragma once

#include "src/cpu/args.h"
#include "src/layout/canonical.h"

namespace restride::cpu {

/// Walks a mode the other way round, so that src ascends.
void turn(layout::CopyMode* mode, CpuArgs* a);

/// The order of rows: as they lie in src; or dst's, unless that jumps a page a row in src: then some rows of dst's next
/// mode alternate with src's own next mode, so that pages on both sides are used up while the TLB has them.
void order_rows(const layout::Canonical& c, bool as_in_src, Nest* nest);

}  // namespace restride::cpu
