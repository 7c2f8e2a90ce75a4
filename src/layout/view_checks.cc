#include "src/layout/view_checks.h"

#include <fmt/format.h>

#include "src/layout/describe.h"

namespace restride::layout {

int checked_mode(const Layout& l, std::int64_t mode, const char* what) {
  if (l.rank() == 0) throw ShapeError(fmt::format("{}: mode {} of {}, which has no modes", what, mode, to_string(l)));
  const std::int64_t m = mode < 0 ? mode + l.rank() : mode;
  if (m < 0 || m >= l.rank())
    throw ShapeError(fmt::format("{}: mode {} of {}, which has {}; use 0 to {} or -{} to -1", what, mode, to_string(l),
                                 counted(l.modes.size(), "mode"), l.rank() - 1, l.rank()));
  return static_cast<int>(m);
}

void require_room(const Layout& l, std::int64_t rank, const char* what) {
  if (rank > kMaxRank)
    throw ArgumentError(fmt::format("{}: {} would have {} modes; the limit is {}", what, to_string(l), rank, kMaxRank));
}

}  // namespace restride::layout
