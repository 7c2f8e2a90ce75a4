// Two layouts, cell by cell: where each element lies.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tools/draw/panels.h"
#include "tools/draw/style.h"

namespace restride::draw {
namespace {

constexpr std::int64_t kMostCells = 8;  // of a mode
constexpr std::int64_t kGridCells = 4;  // in text

/// The two modes that are drawn: fast ones of both sides, in the tensor's order.
struct Axes {
  int row = -1, column = -1;
};

/// The mode with the shortest step of those longer than one; `but` is taken.
int fastest(const Layout& l, int but) {
  int best = -1;
  for (int m = 0; m < l.rank(); ++m) {
    const Mode& mode = l.modes[static_cast<std::size_t>(m)];
    if (m == but || mode.extent < 2) continue;
    const auto step = [&](int i) { return std::abs(l.modes[static_cast<std::size_t>(i)].stride_bytes); };
    if (best < 0 || step(m) < step(best) || (step(m) == step(best) && m > best)) best = m;
  }
  return best;
}

Axes axes_of(const Layout& dst, const Layout& src) {
  bool same = dst.rank() == src.rank();
  for (int m = 0; same && m < dst.rank(); ++m)
    same = dst.modes[static_cast<std::size_t>(m)].extent == src.modes[static_cast<std::size_t>(m)].extent;
  const int a = fastest(dst, -1);
  const int b = same ? fastest(src, a) : fastest(dst, a);
  return {std::min(a, b), std::max(a, b)};
}

/// The first cells along two modes.
struct Corner {
  const Layout& l;
  const Axes& axes;
  std::int64_t rows, columns;
  std::int64_t per = 1;  ///< bytes of a step: an element, or one where not all places are whole elements

  Corner(const Layout& layout, const Axes& a, std::int64_t most)
      : l(layout), axes(a), rows(std::min(extent(a.row), most)), columns(std::min(extent(a.column), most)) {
    bool whole = l.offset_bytes % l.element.size_bytes == 0;
    for (const Mode& mode : l.modes) whole = whole && mode.stride_bytes % l.element.size_bytes == 0;
    if (whole) per = l.element.size_bytes;
  }
  std::int64_t extent(int m) const { return m < 0 ? 1 : l.modes[static_cast<std::size_t>(m)].extent; }
  std::int64_t stride(int m) const { return m < 0 ? 0 : l.modes[static_cast<std::size_t>(m)].stride_bytes; }
  bool cut() const { return rows < extent(axes.row) || columns < extent(axes.column); }
  std::int64_t place(std::int64_t r, std::int64_t c) const {
    return (l.offset_bytes + r * stride(axes.row) + c * stride(axes.column)) / per;
  }
  /// Characters of the longest place.
  std::size_t digits() const {
    std::size_t out = 1;
    for (const std::int64_t r : {std::int64_t{0}, rows - 1})
      for (const std::int64_t c : {std::int64_t{0}, columns - 1})
        out = std::max(out, std::to_string(place(r, c)).size());
    return out;
  }
};

struct Side {
  Markup m;
  double width = 0, height = 0;
};

Side side(const Layout& l, const Axes& axes, const char* name) {
  constexpr double kHigh = 17, kTop = 62, kLeft = 30, kLeast = 34;
  const Corner corner(l, axes, kMostCells);
  const auto [rows, columns, per] = std::tuple(corner.rows, corner.columns, corner.per);
  const auto extent = [&](int m) { return corner.extent(m); };
  const auto place = [&](std::int64_t r, std::int64_t c) { return corner.place(r, c); };
  const std::size_t digits = corner.digits();
  const double wide = std::max(kLeast, 6.4 * static_cast<double>(digits) + 8);
  Side out;
  out.width = kLeft + static_cast<double>(columns) * wide + 12;
  out.m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}}, name);
  out.m.leaf("text", {{"class", "code"}, {"x", 34}, {"y", 14}}, to_string(l));
  out.width = std::max(out.width, 40 + 6.9 * static_cast<double>(to_string(l).size()));
  std::string note = axes.row < 0 ? "" : fmt::format("axis {} down, ", axes.row);
  if (axes.column >= 0) note += fmt::format("axis {} across; ", axes.column);
  note += fmt::format("cells say where an element lies, in {}", per == 1 ? "bytes" : "elements");
  out.m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 31}}, note);
  out.width = std::max(out.width, 5.7 * static_cast<double>(note.size()));
  std::vector<std::string> parts;
  if (corner.cut())
    parts.push_back(fmt::format("{} x {} of {} x {}", rows, columns, extent(axes.row), extent(axes.column)));
  std::int64_t others = 0;
  for (int m = 0; m < l.rank(); ++m) others += m != axes.row && m != axes.column && extent(m) > 1 ? 1 : 0;
  if (others > 0) parts.push_back(fmt::format("{} other {} at index 0", others, others == 1 ? "axis" : "axes"));
  if (!parts.empty())
    out.m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 46}},
               fmt::format("{}; the rest is left out", fmt::join(parts, ", ")));
  double y = kTop;
  for (std::int64_t r = 0; r < rows; ++r, y += kHigh)
    for (std::int64_t c = 0; c < columns; ++c) {
      const double x = kLeft + static_cast<double>(c) * wide;
      // A run along the row of cells is one colour, so that both sides' runs are seen.
      out.m.leaf("rect", {{"class", "cell " + lane_class(static_cast<int>(c % 32))},
                          {"x", x},
                          {"y", y},
                          {"width", wide - 1},
                          {"height", kHigh - 2}});
      out.m.leaf("text", {{"class", "on mid code tiny"}, {"x", x + wide / 2}, {"y", y + 10.5}},
                 std::to_string(place(r, c)));
    }
  out.height = y;
  return out;
}

/// The two modes of each side that are shown: src's, dst's.
std::pair<Axes, Axes> axes_of_both(const Layout& dst, const Layout& src) {
  bool same = dst.rank() == src.rank();
  for (int m = 0; same && m < dst.rank(); ++m)
    same = dst.modes[static_cast<std::size_t>(m)].extent == src.modes[static_cast<std::size_t>(m)].extent;
  const Axes of_dst = axes_of(dst, src);
  return {same ? of_dst : axes_of(src, src), of_dst};
}

/// A layout and its first cells as lines of text.
std::string grid(const Layout& l, const Axes& axes, const char* name) {
  const Corner corner(l, axes, kGridCells);
  const std::size_t wide = corner.digits() + 2;
  std::string out =
      fmt::format("{} {}{}\n", name, to_string(l), corner.per == l.element.size_bytes ? "" : ", in bytes");
  for (std::int64_t r = 0; r < corner.rows; ++r) {
    for (std::int64_t c = 0; c < corner.columns; ++c) out += fmt::format("{:>{}}", corner.place(r, c), wide);
    out += corner.columns < corner.extent(axes.column) ? "  ...\n" : "\n";
  }
  if (corner.rows < corner.extent(axes.row)) out += fmt::format("{:>{}}\n", "...", wide);
  return out;
}

}  // namespace

std::string layouts_text(const Layout& dst, const Layout& src) {
  if (dst.elements() == 0 || src.elements() == 0) return "";
  const auto [from, to] = axes_of_both(dst, src);
  return grid(src, from, "src") + grid(dst, to, "dst");
}

Drawing layouts_drawing(const Layout& dst, const Layout& src) {
  Drawing out{"layouts", fmt::format("where elements lie: {} and {}", to_string(src), to_string(dst)), 0, 0, {}};
  if (dst.elements() == 0) {
    out.width = 400, out.height = 30;
    out.markup = Markup().leaf("text", {{"x", 0}, {"y", 14}}, "nothing to draw: there are no elements").str();
    return out;
  }
  const auto [of_src, of_dst] = axes_of_both(dst, src);
  const Side from = side(src, of_src, "src"), to = side(dst, of_dst, "dst");
  Markup m;
  m.open("g").raw(from.m.str()).close();
  m.open("g", {{"transform", fmt::format("translate(0 {})", number(from.height + 14))}}).raw(to.m.str()).close();
  out.width = std::max({from.width, to.width, 400.0});
  out.height = from.height + 14 + to.height + 6;
  out.markup = m.str();
  return out;
}

}  // namespace restride::draw
