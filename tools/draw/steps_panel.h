// The steps to the canonical form as drawings: the modes of each, outermost first, with their strides on both sides.
#pragma once

#include <string>
#include <vector>

#include "src/layout/canonical.h"
#include "tools/draw/markup.h"

namespace restride::draw {

/// What a step does, in a sentence.
std::string step_words(const layout::CanonicalStep& step);

/// A step's modes. `before`: the step before it, or null; modes that it had alike are drawn pale.
Drawing step_drawing(const layout::CanonicalStep& step, const layout::CanonicalStep* before);

}  // namespace restride::draw
