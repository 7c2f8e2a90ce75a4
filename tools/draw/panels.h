// The drawings of a copy: its two layouts, a piece of it on both sides and in between, and the order of pieces. Each is
// drawn from what the library tells (layouts, the canonical form, a decision's trace) and says what it leaves out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <restride/layout.hpp>

#include "src/layout/canonical.h"
#include "src/plan/trace.h"
#include "tools/draw/figures.h"
#include "tools/draw/markup.h"

namespace restride::draw {

/// Both tensors, index by index: each cell says where the element lies, in elements (bytes where that is no whole
/// number) from the data pointer. Of large ones a corner.
Drawing layouts_drawing(const Layout& dst, const Layout& src);

/// The same as a few lines of text. Empty where there are no elements.
std::string layouts_text(const Layout& dst, const Layout& src);

/// A piece on one side: lines and sectors of memory, which bytes are used, and by whom. GPU: threads; CPU: runs. In
/// about `most_rows` rows.
Drawing memory_drawing(const plan::Trace& t, const Figures& f, const Grain& grain, plan::Space space,
                       std::size_t most_rows = 24);

/// What lies between: on a GPU the banks of shared memory that one instruction of the first warp writes or reads; on
/// the CPU the stage as it is filled. Empty where the kernel has registers alone.
std::vector<Drawing> stage_drawings(const plan::Trace& t, const Figures& f, const Grain& grain,
                                    std::size_t most_rows = 24);

/// Lines of src that are prefetched while the piece is moved, in the order in which they are asked for. Empty where the
/// kernel prefetches none.
std::vector<Drawing> ahead_drawings(const plan::Trace& t, std::size_t most_rows = 16);

/// A piece's name, or that of several.
std::string pieces(std::string_view piece_is, bool several);

/// Where pieces lie in the tensor, and the order in which they are walked. `trace(n)` tells piece n.
Drawing order_drawing(const layout::Canonical& c, std::int64_t piece,
                      const std::function<plan::Trace(std::int64_t)>& trace);

}  // namespace restride::draw
