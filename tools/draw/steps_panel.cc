#include "tools/draw/steps_panel.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/draw/style.h"

namespace restride::draw {
namespace {

constexpr std::pair<std::string_view, const char*> kWords[] = {
    {"given", "The two layouts as they are, strides in bytes."},
    {"drop", "Modes of extent 1 say nothing; neighbours of one stride become one mode. Each side by itself."},
    {"refine", "Both sides are cut into the same modes, so that one loop nest walks both."},
    {"flip", "Where dst runs backwards, both sides are reversed, so that dst's strides are positive."},
    {"sort", "By dst's strides, the smallest innermost: the order in which dst lies in memory."},
    {"merge", "Neighbours that follow each other on both sides become one mode."},
    {"unit",
     "The bytes that both sides share innermost become the unit that moves; without a cast nothing else of the "
     "dtype is left."},
};

constexpr std::size_t kMostModes = 6;
constexpr double kWide = 92, kHigh = 30, kLeft = 40;

void draw_modes(Markup& m, const layout::CopyModes& modes, const layout::CopyModes* before, double y, bool dst,
                bool src) {
  const std::size_t shown = std::min(modes.size(), kMostModes);
  if (modes.empty()) m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 18}}, "one unit, no modes");
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t at = shown - 1 - i;  // innermost to the right
    const layout::CopyMode& mode = modes[at];
    const double x = kLeft + static_cast<double>(i) * (kWide + 4);
    const bool same = before != nullptr && std::find(before->begin(), before->end(), mode) != before->end();
    m.leaf("rect", {{"class", same ? "whole" : "tile"}, {"x", x}, {"y", y}, {"width", kWide}, {"height", kHigh}});
    m.leaf("text", {{"class", "mid"}, {"x", x + kWide / 2}, {"y", y + 19}}, std::to_string(mode.extent));
    double below = y + kHigh + 12;
    const auto stride = [&](const char* side, std::int64_t value) {
      m.leaf("text", {{"class", "note tiny code mid"}, {"x", x + kWide / 2}, {"y", below}},
             fmt::format("{} {}", side, value));
      below += 11;
    };
    if (dst) stride("dst", mode.dst_stride);
    if (src) stride("src", mode.src_stride);
  }
  if (shown < modes.size())
    m.leaf("text", {{"class", "note tiny"}, {"x", 0}, {"y", y + 10}}, fmt::format("+{} more", modes.size() - shown));
}

}  // namespace

std::string step_words(const layout::CanonicalStep& step) {
  for (const auto& [name, words] : kWords)
    if (name == step.name) return words;
  return "";
}

Drawing step_drawing(const layout::CanonicalStep& step, const layout::CanonicalStep* before) {
  Drawing out{"step-" + std::string(step.name), fmt::format("modes after the step {}", step.name), 0, 0, {}};
  Markup m;
  const std::size_t most = std::min(std::max(step.modes.size(), step.src_modes.size()), kMostModes);
  out.width = std::max(kLeft + static_cast<double>(most) * (kWide + 4) + 2, 160.0);
  const bool alike = before != nullptr && before->two_sided == step.two_sided;
  if (step.two_sided) {
    m.leaf("text", {{"x", 0}, {"y", 24}}, "dst");
    draw_modes(m, step.modes, alike ? &before->modes : nullptr, 4, true, false);
    m.leaf("text", {{"x", 0}, {"y", 84}}, "src");
    draw_modes(m, step.src_modes, alike ? &before->src_modes : nullptr, 64, false, true);
    out.height = 114;
  } else {
    m.leaf("text", {{"x", 0}, {"y", 24}}, "both");
    draw_modes(m, step.modes, alike ? &before->modes : nullptr, 4, true, true);
    out.height = 64;
  }
  out.markup = m.str();
  return out;
}

}  // namespace restride::draw
