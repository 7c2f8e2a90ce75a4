// What the tests of views share: short names for layouts and lists of extents.
#pragma once

#include <restride/layout.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/throws.h"

namespace restride::test {

using Ints = std::vector<std::int64_t>;

inline Layout of(std::string_view text) { return parse_layout(text); }

}  // namespace restride::test
