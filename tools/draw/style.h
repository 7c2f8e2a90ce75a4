// The colours and type of drawings and pages, light and dark; text on every fill has a contrast of 4.5 or more.
#pragma once

#include <string>
#include <string_view>

namespace restride::draw {

/// CSS of drawings: what an SVG file carries with it.
std::string_view drawing_style();

/// CSS of pages, with that of drawings.
std::string page_style();

/// The class of what thread (or run) `number` does: one of 32 fills, on which dark text stands.
std::string lane_class(int number);

}  // namespace restride::draw
