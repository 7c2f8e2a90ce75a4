// In which order rows are walked.
#pragma once

#include "src/cpu/nest.h"
#include "src/layout/canonical.h"
#include "src/plan/tile_order.h"

namespace restride::cpu {

/// kDst: as they lie in dst, unless that jumps a page a row in src: then some rows of dst's next mode alternate with
/// src's own next mode, so that pages on both sides are used up while the TLB has them. kSrc: as they lie in src. There
/// is no kNear.
using RowOrder = plan::TileOrder;

/// Puts the modes outside a row into `nest`.
void order_rows(const layout::Canonical& c, RowOrder order, Nest* nest);

}  // namespace restride::cpu
