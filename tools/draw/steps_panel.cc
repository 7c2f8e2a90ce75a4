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
constexpr double kWidest = 92, kNarrowest = 38, kHigh = 30, kLeft = 46;

/// Of a box: all of its modes' numbers find room, and six of everyday numbers fit beside each other on a phone.
double wide(const layout::CopyModes& modes) {
  const auto digits = [](std::int64_t number) { return static_cast<double>(std::to_string(number).size()); };
  double most = 0;
  for (std::size_t i = 0; i < std::min(modes.size(), kMostModes); ++i)
    most = std::max(
        {most, 7 * digits(modes[i].extent), 5.5 * digits(modes[i].dst_stride), 5.5 * digits(modes[i].src_stride)});
  return modes.size() <= 3 ? kWidest : std::clamp(most + 4, kNarrowest, kWidest);
}

void draw_modes(Markup& m, const layout::CopyModes& modes, const layout::CopyModes* before, double y, const char* name,
                bool dst, bool src) {
  const std::size_t shown = std::min(modes.size(), kMostModes);
  const double box = wide(modes);
  m.leaf("text", {{"x", 0}, {"y", y + 19}}, name);
  if (modes.empty()) m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 18}}, "one unit, no modes");
  if (shown < modes.size())
    m.leaf("text", {{"class", "note tiny"}, {"x", 0}, {"y", y + 30}}, fmt::format("+{} more", modes.size() - shown));
  double below = y + kHigh + 12;
  const auto strides = [&](const char* side, std::int64_t layout::CopyMode::*stride) {
    m.leaf("text", {{"class", "note tiny code"}, {"x", 0}, {"y", below}}, side);
    for (std::size_t i = 0; i < shown; ++i)
      m.leaf(
          "text",
          {{"class", "note tiny code mid"}, {"x", kLeft + (static_cast<double>(i) + .5) * (box + 4) - 2}, {"y", below}},
          std::to_string(modes[shown - 1 - i].*stride));
    below += 11;
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const layout::CopyMode& mode = modes[shown - 1 - i];  // innermost to the right
    const double x = kLeft + static_cast<double>(i) * (box + 4);
    const bool same = before != nullptr && std::find(before->begin(), before->end(), mode) != before->end();
    m.leaf("rect", {{"class", same ? "whole" : "tile"}, {"x", x}, {"y", y}, {"width", box}, {"height", kHigh}});
    m.leaf("text", {{"class", "mid"}, {"x", x + box / 2}, {"y", y + 19}}, std::to_string(mode.extent));
  }
  if (dst && !modes.empty()) strides(src ? "dst" : "", &layout::CopyMode::dst_stride);
  if (src && !modes.empty()) strides(dst ? "src" : "", &layout::CopyMode::src_stride);
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
  const auto width = [](const layout::CopyModes& modes) {
    return kLeft + static_cast<double>(std::min(modes.size(), kMostModes)) * (wide(modes) + 4) + 2;
  };
  out.width = std::max({width(step.modes), width(step.src_modes), 160.0});
  const bool alike = before != nullptr && before->two_sided == step.two_sided;
  if (step.two_sided) {
    draw_modes(m, step.modes, alike ? &before->modes : nullptr, 4, "dst", true, false);
    draw_modes(m, step.src_modes, alike ? &before->src_modes : nullptr, 64, "src", false, true);
    out.height = 114;
  } else {
    draw_modes(m, step.modes, alike ? &before->modes : nullptr, 4, "both", true, true);
    out.height = 64;
  }
  out.markup = m.str();
  return out;
}

}  // namespace restride::draw
