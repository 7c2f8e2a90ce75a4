// einops notation over layouts: "b (h s) c -> b h (s c)".
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::string_view kEllipsisSign = "\u2026";  // three bytes of UTF-8; einops takes it, too

/// One parenthesis (or a lone name): the names it holds, outermost first. "1" and "()" hold none; "3" is the name of a
/// new mode of that extent.
struct Group {
  std::vector<std::string> names;
  bool parenthesis = false;
};

[[noreturn]] void fail(std::string_view pattern, const std::string& what) {
  throw ParseError(fmt::format("pattern '{}': {}", pattern, what));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_number(std::string_view word) { return is_digit(word[0]); }

/// What is wrong with a character that no pattern has, at the front of `rest`.
std::string stranger(std::string_view rest) {
  std::size_t end = 1;  // a character of UTF-8 is quoted whole
  while (end < rest.size() && (static_cast<unsigned char>(rest[end]) & 0xc0) == 0x80) ++end;
  const std::string quoted = fmt::format("'{}' is no part of the notation; ", rest.substr(0, end));
  if ((static_cast<unsigned char>(rest[0]) & 0x80) != 0) return quoted + "names are of ASCII letters, digits and '_'";
  if (rest[0] == '.') return quoted + "dots stand in threes, '...', for all modes without a name";
  if (rest.starts_with("->")) return quoted + "'->' stands once, between the two sides";
  return quoted + "names stand between blanks, as in 'b h w c -> b c h w'";
}

/// "3" as a mode of the right side. Errors: ParseError.
void require_number(std::string_view pattern, std::string_view word) {
  if (std::find_if_not(word.begin(), word.end(), is_digit) != word.end())
    fail(pattern, fmt::format("'{}' is neither a name nor a number; begin names with a letter", word));
  if (word.find_first_not_of('0') == std::string_view::npos)
    fail(pattern, fmt::format("a mode of extent {}; write 1 or more", word));
  if (word.size() > 18) fail(pattern, fmt::format("the extent {} does not fit 63 bits; write a smaller one", word));
}

std::vector<Group> parse_side(std::string_view pattern, std::string_view side) {
  std::vector<Group> groups;
  bool inside = false;
  for (std::size_t at = 0; at < side.size();) {
    const char c = side[at];
    if (c == ' ' || c == '\t') {
      ++at;
    } else if (c == '(') {
      if (inside) fail(pattern, "a parenthesis inside a parenthesis; one level says the same");
      inside = true;
      groups.push_back({{}, true});
      ++at;
    } else if (c == ')') {
      if (!inside) fail(pattern, "a ')' without its '('; add it or drop both");
      inside = false;
      ++at;
    } else if (side.substr(at, 3) == kEllipsis || side.substr(at, 3) == kEllipsisSign) {
      if (!inside) groups.emplace_back();
      groups.back().names.emplace_back(kEllipsis);
      at += 3;
    } else if (is_word(c)) {
      const std::size_t start = at;
      while (at < side.size() && is_word(side[at])) ++at;
      const std::string word(side.substr(start, at - start));
      if (!inside) groups.emplace_back();
      if (is_number(word)) require_number(pattern, word);
      if (word != "1") groups.back().names.push_back(word);
    } else {
      fail(pattern, stranger(side.substr(at)));
    }
  }
  if (inside) fail(pattern, "a '(' without its ')'; add it or drop both");
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
  if (arrow == std::string_view::npos)
    fail(pattern, "no '->'; write it between the two sides, as in 'b h w c -> b c h w'");
  const Sides sides{parse_side(pattern, pattern.substr(0, arrow)), parse_side(pattern, pattern.substr(arrow + 2))};
  const std::ptrdiff_t on_left = count_ellipses(sides.left), on_right = count_ellipses(sides.right);
  for (const Group& g : sides.left)
    if (g.parenthesis && count_ellipses({g}) != 0)
      fail(pattern, "'...' inside a parenthesis of the left side, which splits one mode; name its parts");
  if (on_left > 1 || on_right > 1)
    fail(pattern, "'...' twice on one side; it stands once for all modes without a name");
  if (on_left != on_right) fail(pattern, "'...' on one side only; write it on both, or name its modes");
  const bool open = on_left == 1;
  const std::size_t fixed = sides.left.size() - (open ? 1 : 0);
  if (fixed > l.modes.size() || (!open && fixed != l.modes.size()))
    throw ShapeError(
        fmt::format("pattern '{}': the left side names {} but {} has {}; name each, or write '...' for the others",
                    pattern, layout::counted(fixed, "mode"), to_string(l), l.rank()));
  return {expand_ellipsis(sides.left, l.modes.size() - fixed), expand_ellipsis(sides.right, l.modes.size() - fixed)};
}

bool holds(const std::vector<Group>& groups, const std::string& name) {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const Group& g) { return std::find(g.names.begin(), g.names.end(), name) != g.names.end(); });
}

void require_sizes(std::string_view pattern, const Sides& sides, NamedSizes sizes) {
  for (const auto& [name, value] : sizes) {
    if (value < 0) throw ShapeError(fmt::format("pattern '{}': {}={}; sizes are 0 or more", pattern, name, value));
    if (std::count_if(sizes.begin(), sizes.end(), [&wanted = name](const auto& s) { return s.first == wanted; }) > 1)
      throw ShapeError(fmt::format("pattern '{}': the size of '{}' is given twice; give it once", pattern, name));
    if (name.empty() || is_number(name) || !(holds(sides.left, name) || holds(sides.right, name)))
      throw ShapeError(fmt::format("pattern '{}': the size {}={} names nothing in it; drop it", pattern, name, value));
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
        fmt::format("pattern '{}': mode {} of {} splits into {} parts of unknown size; give all but one a size",
                    pattern, g, to_string(l), unknown));
  Layout one = l;
  one.modes.clear();
  one.modes.push_back(l.modes[g]);
  try {
    return split(one, 0, extents).modes;
  } catch (const Error& e) {
    throw ShapeError(fmt::format("pattern '{}': mode {} of {}: {}", pattern, g, to_string(l), e.what()));
  }
}

/// The left side: every group splits one mode of the layout into named ones.
std::vector<Named> name_modes(std::string_view pattern, const Layout& l, const Sides& sides, NamedSizes sizes) {
  const std::vector<Group>& left = sides.left;
  std::vector<Named> named;
  for (const Group& group : left)
    for (const std::string& name : group.names) {
      if (is_number(name))
        fail(pattern, fmt::format("'{}' on the left; name the mode there, numbers are new modes on the right", name));
      if (find(named, name) != nullptr)
        fail(pattern, fmt::format("'{}' twice on the left; give each mode a name of its own", name));
      named.push_back({name, {}});
    }
  require_sizes(pattern, sides, sizes);
  std::size_t at = 0;
  for (std::size_t g = 0; g < left.size(); ++g)
    for (const Mode& mode : split_mode(pattern, l, g, left[g], sizes)) named[at++].mode = mode;
  return named;
}

/// Takes the mode of this name for the right side: one of the left side, or a new one, which repeats.
Mode place(std::string_view pattern, std::vector<Named>& named, const std::string& name, NamedSizes sizes) {
  if (is_number(name)) return {std::stoll(name), 0};
  Named* n = find(named, name);
  if (n == nullptr) {
    const auto given = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == name; });
    if (given == sizes.end())
      fail(pattern, fmt::format("'{}' is on the right but not on the left; to repeat along it, give its size", name));
    named.push_back({name, {given->second, 0}});
    n = &named.back();
  }
  if (n->placed)
    fail(pattern, fmt::format("'{}' twice on the right; to repeat, use a new name and give its size", name));
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
  std::vector<Named> named = name_modes(pattern, l, sides, sizes);
  Rearrangement out;
  out.source = l;
  out.source.modes.clear();
  for (const Group& group : sides.right) {
    std::int64_t extent = 1;
    for (const std::string& name : group.names) {
      const Mode mode = place(pattern, named, name, sizes);
      if (out.source.modes.full())
        fail(pattern, fmt::format("more than {} modes on the right; merge some before", kMaxRank));
      out.source.modes.push_back(mode);
      if (!checked_mul(extent, mode.extent, &extent))
        throw RangeError(fmt::format("pattern '{}': a merged mode does not fit 63 bits", pattern));
    }
    if (out.shape.full())
      throw ArgumentError(fmt::format("pattern '{}': more than {} modes on the right", pattern, kMaxRank));
    out.shape.push_back(extent);
  }
  for (const Named& n : named)
    if (!n.placed)
      fail(pattern,
           fmt::format("'{}' is on the left but not on the right; put it there, or slice it away before", n.name));
  validate(out.source);  // repeated, it may be too large
  return out;
}

}  // namespace restride
