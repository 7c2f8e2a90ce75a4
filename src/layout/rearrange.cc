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
struct Group {
  std::vector<std::string> names;
  bool parenthesis = false;
};

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
      groups.push_back({{}, true});
      ++at;
    } else if (c == ')') {
      if (!inside) fail(pattern, "a ')' without its '('");
      inside = false;
      ++at;
    } else if (side.substr(at, 3) == kEllipsis) {
      if (!inside) groups.emplace_back();
      groups.back().names.emplace_back(kEllipsis);
      at += 3;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      const std::size_t start = at;
      while (at < side.size() && (std::isalnum(static_cast<unsigned char>(side[at])) != 0 || side[at] == '_')) ++at;
      const std::string word(side.substr(start, at - start));
      if (!inside) groups.emplace_back();
      if (word == "1") continue;
      if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
        fail(pattern, fmt::format("'{}' is neither a name nor 1", word));
      groups.back().names.push_back(word);
    } else {
      std::size_t end = at + 1;  // a character of UTF-8 is quoted whole
      while (end < side.size() && (static_cast<unsigned char>(side[end]) & 0xc0) == 0x80) ++end;
      fail(pattern, fmt::format("'{}' is no part of the notation", side.substr(at, end - at)));
    }
  }
  if (inside) fail(pattern, "a '(' without its ')'");
  return groups;
}

std::ptrdiff_t count_ellipses(const std::vector<Group>& groups) {
  std::ptrdiff_t n = 0;
  for (const Group& g : groups) n += std::count(g.names.begin(), g.names.end(), kEllipsis);
  return n;
}

/// Writes "..." out as numbered names for `count` modes: each a mode of its own or, in a parenthesis, a part of it.
std::vector<Group> expand_ellipsis(const std::vector<Group>& groups, std::size_t count) {
  std::vector<Group> out;
  for (const Group& g : groups) {
    std::vector<std::string> names;
    for (const std::string& name : g.names) {
      if (name == kEllipsis)
        for (std::size_t k = 0; k < count; ++k) names.push_back(fmt::format("...{}", k));
      else
        names.push_back(name);
    }
    if (!g.parenthesis && count_ellipses({g}) != 0)
      for (const std::string& name : names) out.push_back({{name}});
    else
      out.push_back({names, g.parenthesis});
  }
  return out;
}

/// A mode of the left side, all parentheses split.
struct Named {
  std::string name;
  Mode mode;
  bool placed = false;  ///< on the right side
};

Named* find(std::vector<Named>& named, const std::string& name) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const Named& n) { return n.name == name; });
  return found == named.end() ? nullptr : &*found;
}

struct Sides {
  std::vector<Group> left, right;  ///< "..." written out
};

Sides parse_sides(std::string_view pattern, const Layout& l) {
  const std::size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos) fail(pattern, "no '->'");
  const Sides sides{parse_side(pattern, pattern.substr(0, arrow)), parse_side(pattern, pattern.substr(arrow + 2))};
  const std::ptrdiff_t on_left = count_ellipses(sides.left), on_right = count_ellipses(sides.right);
  for (const Group& g : sides.left)
    if (g.parenthesis && count_ellipses({g}) != 0)
      fail(pattern, "'...' inside a parenthesis of the left side, which splits one mode; name its parts");
  if (on_left > 1 || on_right > 1) fail(pattern, "'...' twice on one side");
  if (on_left != on_right) fail(pattern, "'...' on one side only");
  const bool open = on_left == 1;
  const std::size_t fixed = sides.left.size() - (open ? 1 : 0);
  if (fixed > l.modes.size() || (!open && fixed != l.modes.size()))
    throw ShapeError(fmt::format("rearrange '{}': the left side names {} but {} has {}", pattern,
                                 layout::counted(fixed, "mode"), to_string(l), l.rank()));
  return {expand_ellipsis(sides.left, l.modes.size() - fixed), expand_ellipsis(sides.right, l.modes.size() - fixed)};
}

void require_sizes(std::string_view pattern, NamedSizes sizes, std::vector<Named>& named) {
  for (const auto& [name, value] : sizes) {
    if (value < 0) throw ShapeError(fmt::format("rearrange '{}': {}={}; sizes are 0 or more", pattern, name, value));
    if (std::count_if(sizes.begin(), sizes.end(), [&wanted = name](const auto& s) { return s.first == wanted; }) > 1)
      throw ShapeError(fmt::format("rearrange '{}': the size of '{}' is given twice", pattern, name));
    if (find(named, name) == nullptr)
      throw ShapeError(fmt::format("rearrange '{}': the size {}={} names nothing on the left", pattern, name, value));
  }
}

/// The modes that `group` splits mode `g` of the layout into.
Modes split_mode(std::string_view pattern, const Layout& l, std::size_t g, const Group& group, NamedSizes sizes) {
  std::vector<std::int64_t> extents;
  for (const std::string& name : group.names) {
    const auto given = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == name; });
    extents.push_back(given != sizes.end() ? given->second : -1);
  }
  if (const auto unknown = std::count(extents.begin(), extents.end(), -1); unknown > 1)
    throw ShapeError(
        fmt::format("rearrange '{}': mode {} of {} splits into {} parts of unknown size; give all but one a size",
                    pattern, g, to_string(l), unknown));
  Layout one = l;
  one.modes.clear();
  one.modes.push_back(l.modes[g]);
  try {
    return split(one, 0, extents).modes;
  } catch (const Error& e) {
    throw ShapeError(fmt::format("rearrange '{}': mode {} of {}: {}", pattern, g, to_string(l), e.what()));
  }
}

/// The left side: every group splits one mode of the layout into named ones.
std::vector<Named> name_modes(std::string_view pattern, const Layout& l, const std::vector<Group>& left,
                              NamedSizes sizes) {
  std::vector<Named> named;
  for (const Group& group : left)
    for (const std::string& name : group.names) {
      if (find(named, name) != nullptr) fail(pattern, fmt::format("'{}' twice on the left", name));
      named.push_back({name, {}});
    }
  require_sizes(pattern, sizes, named);
  std::size_t at = 0;
  for (std::size_t g = 0; g < left.size(); ++g)
    for (const Mode& mode : split_mode(pattern, l, g, left[g], sizes)) named[at++].mode = mode;
  return named;
}

/// Takes the mode of this name for the right side.
const Mode& place(std::string_view pattern, std::vector<Named>& named, const std::string& name) {
  Named* n = find(named, name);
  if (n == nullptr)
    fail(pattern, fmt::format("'{}' is on the right but not on the left (a rearrangement adds nothing)", name));
  if (n->placed) fail(pattern, fmt::format("'{}' twice on the right", name));
  n->placed = true;
  return n->mode;
}

}  // namespace

Layout Rearrangement::result(Element element) const {
  Shape extents;
  for (const Mode& m : source.modes) extents.push_back(m.extent);
  return contiguous(element, extents);
}

Rearrangement rearrange(const Layout& l, std::string_view pattern, NamedSizes sizes) {
  const Sides sides = parse_sides(pattern, l);
  std::vector<Named> named = name_modes(pattern, l, sides.left, sizes);
  Rearrangement out;
  out.source = l;
  out.source.modes.clear();
  for (const Group& group : sides.right) {
    std::int64_t extent = 1;
    for (const std::string& name : group.names) {
      const Mode& mode = place(pattern, named, name);
      if (out.source.modes.full()) fail(pattern, "more modes than a layout holds");
      out.source.modes.push_back(mode);
      if (!checked_mul(extent, mode.extent, &extent))
        throw RangeError(fmt::format("rearrange '{}': a merged mode does not fit 63 bits", pattern));
    }
    if (out.shape.full())
      throw ArgumentError(fmt::format("rearrange '{}': more than {} modes on the right", pattern, kMaxRank));
    out.shape.push_back(extent);
  }
  for (const Named& n : named)
    if (!n.placed)
      fail(pattern, fmt::format("'{}' is on the left but not on the right (a rearrangement drops nothing)", n.name));
  return out;
}

}  // namespace restride
