// Lines of src that a kernel of the CPU prefetches while it moves a piece.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tools/draw/panels.h"

namespace restride::draw {
std::vector<Drawing> ahead_drawings(const plan::Trace& t, std::size_t most_rows) {
  constexpr double kLeft = 74, kTop = 62, kRow = 17, kWide = 30, kCell = 13;
  constexpr std::int64_t kLine = 64, kMostAcross = 16;
  if (t.ahead.empty()) return {};
  std::map<std::int64_t, std::size_t> turn;  // of each line, when it is asked for first
  for (std::size_t i = 0; i < t.ahead.size(); ++i) turn.try_emplace(t.ahead[i], i);
  Drawing out{"ahead", {}, kLeft + kMostAcross * kWide + 12, 0, {}};
  out.title = fmt::format("{} lines of src are prefetched while {} {} is moved", turn.size(), pieces(t.piece_is, false),
                          t.piece);
  Markup m;
  m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}},
         fmt::format("src, prefetched while {} {} is moved", pieces(t.piece_is, false), t.piece));
  m.open("text", {{"class", "note"}, {"x", 0}, {"y", 31}});
  m.leaf("tspan", {{"data-figure", "prefetched.lines"}}, std::to_string(turn.size()));
  m.text(" lines of 64 bytes: ").leaf("tspan", {{"data-figure", "prefetched.is"}}, t.ahead_is).close();
  m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 46}}, "numbers say in which order they are asked for");
  double y = kTop - kRow;
  std::size_t rows = 0, shown = 0;
  std::int64_t first = 0, end = 0;  // lines of the row of the drawing
  for (const auto& [at, when] : turn) {
    if (shown == 0 || at != end || at - first == kMostAcross * kLine) {
      if (rows == most_rows) break;
      ++rows;
      y += kRow;
      first = at;
      m.leaf("text", {{"class", "note code tiny end"}, {"x", kLeft - 6}, {"y", y + 10}}, fmt::format("+{}", at));
    }
    end = at + kLine;
    ++shown;
    const double x =
        kLeft + static_cast<double>((at - first) / kLine) * kWide;  // NOLINT(bugprone-integer-division): whole lines
    m.leaf("rect", {{"class", "tile"}, {"x", x}, {"y", y}, {"width", kWide - 2}, {"height", kCell}});
    m.leaf("text", {{"class", "tiny mid"}, {"x", x + kWide / 2 - 1}, {"y", y + 9.6}}, std::to_string(when));
  }
  y += kRow;
  if (shown < turn.size()) {
    m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 12}},
           fmt::format("and {} more lines, left out", turn.size() - shown));
    y += kRow;
  }
  out.width = std::max(out.width, 6.2 * static_cast<double>(t.ahead_is.size() + 24));
  out.height = y + 6;
  out.markup = m.str();
  return {std::move(out)};
}

}  // namespace restride::draw
