// What several views check.
#pragma once

#include <cstdint>

#include <restride/layout.hpp>

namespace restride::layout {

/// `mode` of `l`, counted from the end where it is negative. Errors: ShapeError that begins with `what`.
int checked_mode(const Layout& l, std::int64_t mode, const char* what);

/// Errors: ArgumentError that begins with `what` when no layout has so many modes.
void require_room(const Layout& l, std::int64_t rank, const char* what);

}  // namespace restride::layout
