// The bids as bars of text.
#pragma once

#include <string>

#include "src/plan/decision.h"

namespace restride::draw {

/// A line for each kernel that applies, the chosen one first, and a line that says what the marks stand for: at most
/// `columns` wide. Marks differ, so that colour (`coloured`: ANSI's) says nothing by itself. Empty where nothing bids.
std::string bars(const plan::Decision& d, int columns, bool coloured);

}  // namespace restride::draw
