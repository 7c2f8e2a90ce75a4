// What others call the dtypes, and what to say of a word that is none.
#pragma once

#include <string>
#include <string_view>

namespace restride::layout {

/// Behind "'flaot32' is no element type": "; did you mean float32?", or all there are.
std::string dtype_hint(std::string_view text);

}  // namespace restride::layout
