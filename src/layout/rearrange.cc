// einops notation over layouts: "b (h s) c -> b h (s c)".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride {
namespace {

constexpr std::string_view kEllipsis = "...";

/// One parenthesis (or a lone name): the names it holds, outermost first. "1" and "()" hold none.
using Group = std::vector<std::string>;

[[noreturn]] void fail(std::string_view pattern, const std::string& what) {
  throw ParseError(fmt::format("rearrange '{}': {}; write for example 'b h w c -> b c h w'", pattern, what));
}

std::vector<Group> parse_side(std::string_view pattern, std::string_view side) {
  std::vector<Group> groups;
  bool inside = false;
  for (std::size_t at = 0; at < side.size();) {
    const char c = side[at];
    if (c == ' ' || c == '\t') {
      ++at;
    } else if (c == '(') {
      if (inside) fail(pattern, "a parenthesis inside a parenthesis");
      inside = true;
      groups.emplace_back();
      ++at;
    } else if (c == ')') {
      if (!inside) fail(pattern, "a ')' without its '('");
      inside = false;
      ++at;
    } else if (side.substr(at, 3) == kEllipsis) {
      if (inside) fail(pattern, "'...' inside a parenthesis is not supported");
      groups.push_back({std::string(kEllipsis)});
      at += 3;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      const std::size_t start = at;
      while (at < side.size() && (std::isalnum(static_cast<unsigned char>(side[at])) != 0 || side[at] == '_')) ++at;
      const std::string word(side.substr(start, at - start));
      if (!inside) groups.emplace_back();
      if (word == "1") continue;
      if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
        fail(pattern, fmt::format("'{}' is neither a name nor 1", word));
      groups.back().push_back(word);
    } else {
      std::size_t end = at + 1;  // a character of UTF-8 is quoted whole
      while (end < side.size() && (static_cast<unsigned char>(side[end]) & 0xc0) == 0x80) ++end;
      fail(pattern, fmt::format("'{}' is no part of the notation", side.substr(at, end - at)));
    }
  }
  if (inside) fail(pattern, "a '(' without its ')'");
  return groups;
}

/// Replaces "..." by as many numbered names as the layout has modes left for it.
void expand_ellipsis(std::string_view pattern, std::vector<Group>& groups, std::size_t count) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() != 1 || groups[i][0] != kEllipsis) continue;
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t k = 0; k < count; ++k)
      groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(i + k), Group{fmt::format("...{}", k)});
    for (std::size_t k = i + count; k < groups.size(); ++k)
      if (groups[k].size() == 1 && groups[k][0] == kEllipsis) fail(pattern, "'...' twice on one side");
    return;
  }
}

bool has_ellipsis(const std::vector<Group>& groups) {
  for (const Group& g : groups)
    if (g.size() == 1 && g[0] == kEllipsis) return true;
  return false;
}

struct Named {
  std::string name;
  Mode mode;
};

}  // namespace

Rearrangement rearrange(const Layout& l, std::string_view pattern,
                        std::span<const std::pair<std::string, std::int64_t>> sizes) {
  const std::size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos) fail(pattern, "no '->'");
  std::vector<Group> left = parse_side(pattern, pattern.substr(0, arrow));
  std::vector<Group> right = parse_side(pattern, pattern.substr(arrow + 2));
  if (has_ellipsis(left) != has_ellipsis(right)) fail(pattern, "'...' on one side only");
  const std::size_t fixed = left.size() - (has_ellipsis(left) ? 1 : 0);
  if (fixed > l.modes.size() || (!has_ellipsis(left) && fixed != l.modes.size()))
    throw ShapeError(fmt::format("rearrange '{}': the left side names {} modes but {} has {}", pattern, fixed,
                                 to_string(l), l.rank()));
  expand_ellipsis(pattern, left, l.modes.size() - fixed);
  expand_ellipsis(pattern, right, l.modes.size() - fixed);

  // Left side: every group splits one mode of the layout into named ones.
  std::vector<Named> named;
  const auto find = [&](const std::string& name) -> Named* {
    for (Named& n : named)
      if (n.name == name) return &n;
    return nullptr;
  };
  for (std::size_t g = 0; g < left.size(); ++g) {
    std::vector<std::int64_t> extents;
    for (const std::string& name : left[g]) {
      if (find(name) != nullptr) fail(pattern, fmt::format("'{}' twice on the left", name));
      std::int64_t extent = left[g].size() == 1 ? l.modes[g].extent : -1;
      for (const auto& [key, value] : sizes)
        if (key == name) {
          if (value < 0)
            throw ShapeError(fmt::format("rearrange '{}': {}={}; sizes are 0 or more", pattern, key, value));
          extent = value;
        }
      extents.push_back(extent);
      named.push_back({name, {}});
    }
    int unknown = 0;
    for (std::int64_t e : extents) unknown += e == -1 ? 1 : 0;
    if (unknown > 1)
      throw ShapeError(
          fmt::format("rearrange '{}': mode {} of {} splits into {} parts of unknown size; give all but one a size",
                      pattern, g, to_string(l), unknown));
    Layout one = l;
    one.modes.clear();
    one.modes.push_back(l.modes[g]);
    const Layout parts = [&] {
      try {
        return split(one, 0, extents);
      } catch (const Error& e) {
        throw ShapeError(fmt::format("rearrange '{}': mode {} of {}: {}", pattern, g, to_string(l), e.what()));
      }
    }();
    for (std::size_t k = 0; k < extents.size(); ++k) named[named.size() - extents.size() + k].mode = parts.modes[k];
  }
  for (const auto& [key, value] : sizes) {
    if (std::count_if(sizes.begin(), sizes.end(),
                      [&wanted = key](const auto& other) { return other.first == wanted; }) > 1)
      throw ShapeError(fmt::format("rearrange '{}': the size of '{}' is given twice", pattern, key));
    if (find(key) == nullptr)
      throw ShapeError(fmt::format("rearrange '{}': the size {}={} names nothing on the left", pattern, key, value));
  }

  Rearrangement out;
  out.source = l;
  out.source.modes.clear();
  std::size_t used = 0;
  for (const Group& group : right) {
    std::int64_t extent = 1;
    for (const std::string& name : group) {
      Named* n = find(name);
      if (n == nullptr)
        fail(pattern, fmt::format("'{}' is on the right but not on the left (a rearrangement adds nothing)", name));
      if (n->name.empty() || out.source.modes.full()) fail(pattern, "more modes than a layout holds");
      for (std::size_t k = 0; k < right.size(); ++k)
        for (const std::string& other : right[k])
          if (&other != &name && other == name) fail(pattern, fmt::format("'{}' twice on the right", name));
      out.source.modes.push_back(n->mode);
      if (!checked_mul(extent, n->mode.extent, &extent))
        throw RangeError(fmt::format("rearrange '{}': a merged mode does not fit 63 bits", pattern));
      ++used;
    }
    if (out.merged.full())
      throw ArgumentError(fmt::format("rearrange '{}': more than {} modes on the right", pattern, kMaxRank));
    out.merged.push_back({extent, 0});
  }
  if (used != named.size())
    for (const Named& n : named) {
      bool found = false;
      for (const Group& group : right)
        for (const std::string& name : group) found |= name == n.name;
      if (!found)
        fail(pattern, fmt::format("'{}' is on the left but not on the right (a rearrangement drops nothing)", n.name));
    }
  std::int64_t stride = l.element.size_bytes;
  for (std::size_t i = out.merged.size(); i-- > 0;) {
    out.merged[i].stride_bytes = stride;
    if (!checked_mul(stride, std::max<std::int64_t>(out.merged[i].extent, 1), &stride))
      throw RangeError(fmt::format("rearrange '{}': the result's strides do not fit 63 bits", pattern));
  }
  return out;
}

}  // namespace restride
