// Views that keep modes whole: permute, flip, broadcast, squeeze, reinterpret. (slice.cc, reshape.cc, rearrange.cc)
#include <fmt/format.h>

#include "src/layout/describe.h"
#include "src/layout/view_checks.h"

namespace restride {

using layout::checked_mode;
using layout::counted;
using layout::require_room;

Layout permute(const Layout& l, Extents axes) {
  if (axes.size() != l.modes.size())
    throw ShapeError(fmt::format("permute: {} {} for {}, which has {}; give each mode once",
                                 counted(axes.size(), "axis", "axes"), layout::join(axes), to_string(l),
                                 counted(l.modes.size(), "mode")));
  Layout out = l;
  std::uint64_t seen = 0;
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const int m = checked_mode(l, axes[j], "permute");
    if ((seen >> m) & 1)
      throw ShapeError(fmt::format("permute: axes {} name mode {} twice; give each mode once", layout::join(axes), m));
    seen |= std::uint64_t{1} << m;
    out.modes[j] = l.modes[static_cast<std::size_t>(m)];
  }
  return out;
}

Layout flip(const Layout& l, int mode) {
  checked_mode(l, mode, "flip");
  return slice(l, mode, std::nullopt, std::nullopt, -1);
}

Layout broadcast_to(const Layout& l, Extents extents) {
  if (extents.size() < l.modes.size())
    throw ShapeError(fmt::format("broadcast: {} has {} but {} only {}; a broadcast never drops modes", to_string(l),
                                 counted(l.modes.size(), "mode"), layout::join(extents), extents.size()));
  require_room(l, static_cast<std::int64_t>(extents.size()), "broadcast");
  Layout out = l;
  out.modes.clear();
  const std::size_t added = extents.size() - l.modes.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Mode m{extents[i], 0};
    if (i >= added) {
      const Mode& old = l.modes[i - added];
      if (old.extent == extents[i])
        m = old;
      else if (old.extent != 1)
        throw ShapeError(
            fmt::format("broadcast: mode {} of {} has extent {}, which cannot become {}; only extent 1 stretches",
                        i - added, to_string(l), old.extent, extents[i]));
    }
    out.modes.push_back(m);
  }
  validate(out);
  return out;
}

Layout squeeze(const Layout& l, int mode) {
  const auto m = static_cast<std::size_t>(checked_mode(l, mode, "squeeze"));
  if (l.modes[m].extent != 1)
    throw ShapeError(
        fmt::format("squeeze: mode {} of {} has extent {}; only extent 1 can go", m, to_string(l), l.modes[m].extent));
  Layout out = l;
  out.modes.erase(m);
  return out;
}

Layout unsqueeze(const Layout& l, int mode) {
  const std::int64_t m = mode < 0 ? mode + l.rank() + 1 : mode;
  if (m < 0 || m > l.rank())
    throw ShapeError(fmt::format("unsqueeze: place {} in {}; use 0 to {}", mode, to_string(l), l.rank()));
  require_room(l, l.rank() + 1, "unsqueeze");
  Layout out = l;
  out.modes.insert(static_cast<std::size_t>(m), {1, 0});
  return out;
}

Layout reinterpret(const Layout& l, Element element) {
  if (element.size_bytes != l.element.size_bytes)
    throw CastError(fmt::format("reinterpret: {} as {}: elements of {} and {} bytes; only equal sizes can be renamed",
                                to_string(l), to_string(element), l.element.size_bytes, element.size_bytes));
  Layout out = l;
  out.element = element;
  validate(out);
  return out;
}

}  // namespace restride
