// Where pieces lie in the tensor, seen along the modes that are fastest on either side, and in which order they come.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tools/draw/panels.h"
#include "tools/draw/style.h"

namespace restride::draw {
namespace {

constexpr std::int64_t kMostPieces = 36;

/// Indices of the unit at byte `at` of dst: strides of dst ascend and do not reach over each other.
std::vector<std::int64_t> indices(const layout::Canonical& c, std::int64_t at) {
  std::vector<std::int64_t> out(c.modes.size());
  at -= c.dst_offset;
  for (std::size_t m = c.modes.size(); m-- > 0;) {
    out[m] = std::clamp<std::int64_t>(at / c.modes[m].dst_stride, 0, c.modes[m].extent - 1);
    at -= out[m] * c.modes[m].dst_stride;
  }
  return out;
}

/// A piece's extent along two modes, and where it starts along the others.
struct Box {
  std::int64_t piece = 0, x0 = 0, x1 = 0, y0 = 0, y1 = 0;
};

}  // namespace

std::string pieces(std::string_view piece_is, bool several) {
  if (piece_is == "rows") return several ? "groups of rows" : "group of rows";
  if (piece_is == "matrix") return several ? "matrices" : "matrix";
  return fmt::format("{}{}", piece_is, several ? "s" : "");
}

Drawing order_drawing(const layout::Canonical& c, std::int64_t piece,
                      const std::function<plan::Trace(std::int64_t)>& trace) {
  constexpr double kLeft = 74, kTop = 60, kWide = 480, kHigh = 300;
  const plan::Trace first = trace(piece);
  Drawing out{"order", "", kLeft + kWide + 20, 0, {}};
  // Along x what lies side by side in dst, along y what lies side by side in src; a copy of one mode has no y.
  std::size_t x_mode = 0, y_mode = 0;
  for (const std::uint8_t m : layout::modes_by_src_stride(c))
    if (c.modes.size() > 1 && m != x_mode) {
      y_mode = m;
      break;
    }
  const bool two = !c.two_sided && c.modes.size() > 1;
  std::int64_t other_places = 0, empty = 0;
  std::vector<Box> boxes;
  std::optional<std::vector<std::int64_t>> outer;
  const std::int64_t from = std::max<std::int64_t>(0, std::min(piece - kMostPieces / 2, first.pieces - kMostPieces));
  const std::int64_t count = std::min(kMostPieces, first.pieces);
  for (std::int64_t n = from; n < from + count; ++n) {
    const plan::Trace t = n == piece ? first : trace(n);
    if (t.units.empty()) {
      ++empty;
      continue;
    }
    Box box{n, INT64_MAX, 0, INT64_MAX, 0};
    std::vector<std::int64_t> lowest;
    for (const plan::UnitWay& u : t.units) {
      std::vector<std::int64_t> at = c.two_sided || c.modes.empty()
                                         ? std::vector<std::int64_t>{(u.dst - c.dst_offset) / t.dst_unit}
                                         : indices(c, u.dst);
      const std::int64_t x = at[x_mode], y = two ? at[y_mode] : 0;
      box.x0 = std::min(box.x0, x), box.x1 = std::max(box.x1, x + 1);
      box.y0 = std::min(box.y0, y), box.y1 = std::max(box.y1, y + 1);
      if (lowest.empty() || at < lowest) lowest = std::move(at);
    }
    lowest[x_mode] = 0;
    if (two) lowest[y_mode] = 0;
    if (!outer && n >= piece) outer = lowest;
    boxes.push_back(box);
    other_places += outer && lowest != *outer ? 1 : 0;
  }
  std::int64_t x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  for (const Box& b : boxes) x1 = std::max(x1, b.x1), y1 = std::max(y1, b.y1);
  if (!boxes.empty()) {
    x0 = std::min_element(boxes.begin(), boxes.end(), [](auto& a, auto& b) { return a.x0 < b.x0; })->x0;
    y0 = std::min_element(boxes.begin(), boxes.end(), [](auto& a, auto& b) { return a.y0 < b.y0; })->y0;
  }
  const std::int64_t x_all = c.modes.empty() ? 1 : c.modes[x_mode].extent, y_all = two ? c.modes[y_mode].extent : 1;
  const double height = two ? kHigh : 46;
  const auto px = [&](std::int64_t x) {
    return kLeft + static_cast<double>(x - x0) / static_cast<double>(x1 - x0) * kWide;
  };
  const auto py = [&](std::int64_t y) {
    return kTop + static_cast<double>(y - y0) / static_cast<double>(y1 - y0) * height;
  };
  out.title = fmt::format("the order of {}: {} of {}", pieces(first.piece_is, true), boxes.size(), first.pieces);
  Markup m;
  m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}},
         fmt::format("the order of {}", pieces(first.piece_is, true)));
  m.open("text", {{"class", "note"}, {"x", 0}, {"y", 31}});
  m.text(fmt::format("numbers {} to {} of ", from, from + count - 1))
      .leaf("tspan", {{"data-figure", "of"}}, std::to_string(first.pieces));
  if (first.blocks < first.pieces)
    m.text(", by ").leaf("tspan", {{"data-figure", "blocks"}}, std::to_string(first.blocks)).text(" blocks in turn");
  m.text(other_places > 0 ? fmt::format("; {} of them lie elsewhere in modes that are not drawn", other_places) : "");
  m.text(empty > 0 ? fmt::format("; {} empty", empty) : "").close();
  m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", kTop - 6}},
         fmt::format("→ side by side in dst: {} to {} of {}", x0, x1 - 1, x_all));
  if (two)
    m.leaf("text",
           {{"class", "note"},
            {"x", kLeft - 8},
            {"y", kTop + height},
            {"transform", fmt::format("rotate(-90 {} {})", number(kLeft - 8), number(kTop + height))}},
           fmt::format("{}: {} to {} of {} ←", "side by side in src", y0, y1 - 1, y_all));
  m.leaf("rect", {{"class", "whole"}, {"x", kLeft}, {"y", kTop}, {"width", kWide}, {"height", height}});
  std::string way;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> drawn;  // tints must not add up
  const auto draw = [&](const Box& b) {
    if (!drawn.emplace(b.x0, b.x1, b.y0, b.y1).second) return;
    m.leaf("rect", {{"class", b.piece == piece ? "here" : "tile"},
                    {"x", px(b.x0)},
                    {"y", py(b.y0)},
                    {"width", px(b.x1) - px(b.x0)},
                    {"height", py(b.y1) - py(b.y0)}});
  };
  for (const Box& b : boxes)
    if (b.piece == piece) draw(b);
  for (const Box& b : boxes) {
    draw(b);
    const double x = (px(b.x0) + px(b.x1)) / 2, y = (py(b.y0) + py(b.y1)) / 2;
    way += fmt::format("{}{} {}", way.empty() ? "M" : "L", number(x), number(y));
  }
  if (!way.empty()) m.leaf("path", {{"class", "way"}, {"d", way}});
  std::set<std::pair<double, double>> labelled;  // pieces that differ in other modes share a place
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& b = boxes[i];
    const double x = (px(b.x0) + px(b.x1)) / 2, y = (py(b.y0) + py(b.y1)) / 2;
    m.leaf("circle", {{"class", "dot"}, {"cx", x}, {"cy", y}, {"r", 2.2}});
    const bool room = px(b.x1) - px(b.x0) >= 24 && py(b.y1) - py(b.y0) >= 13;
    if ((room || i < 3 || i + 1 == boxes.size()) && labelled.emplace(x, y).second)
      m.leaf("text", {{"class", "tiny"}, {"x", std::min(x + 4, kLeft + kWide - 14)}, {"y", y - 3}},
             std::to_string(b.piece));
  }
  out.height = kTop + height + 12;
  out.markup = m.str();
  return out;
}

}  // namespace restride::draw
