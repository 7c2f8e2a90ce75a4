#include "tools/layout_arrow.h"

#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "src/layout/describe.h"
#include "tools/commands.h"
#include "tools/io/text.h"
#include "tools/view_options.h"

namespace restride::tools {
namespace {

/// "(0,3,1,2)" and "[0,3,1,2]", but not the beginning of a layout's strides.
bool is_list(std::string_view text) {
  if (text.size() < 2 || text.find(':') != std::string_view::npos) return false;
  return (text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']');
}

}  // namespace

bool has_arrow(const std::string& what) { return what.find("->") != std::string::npos; }

Layout layout_named(std::string_view text) {
  return from_command_line<ParseError>([&] { return parse_layout(text); });
}

LayoutArrow parse_arrow(const std::string& command, const std::string& what) {
  const std::size_t arrow = what.find("->");
  const std::string_view left = io::trimmed(std::string_view(what).substr(0, arrow));
  if (left.empty()) throw nothing_before_arrow(command, what);
  LayoutArrow out{layout_named(left), {}, {}, {}, std::string(io::trimmed(std::string_view(what).substr(arrow + 2)))};
  const std::string& right = out.right;
  out.dtype = parse_element(right);
  if (out.dtype) return out;
  if (is_list(right)) {
    const std::string inside(io::trimmed(std::string_view(right).substr(1, right.size() - 2)));
    out.axes.emplace();
    if (!inside.empty()) out.axes = read_view(ViewKind::kAxes, "axes", inside).numbers;
    if (out.axes->size() != static_cast<std::size_t>(out.src.rank()))
      throw ShapeError(
          fmt::format("{} has {}, but {} names {}; to reshape, write a dtype in front and add --reshape: '{} {}'",
                      to_string(out.src), layout::counted(out.src.modes.size(), "mode"), right, out.axes->size(),
                      to_string(out.src.element), right));
    return out;
  }
  const auto begins_dtype = [](char c) {  // "f32", "<f4"
    return std::isalpha(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("<=|>?").find(c) != std::string_view::npos;
  };
  if (right.empty() || !begins_dtype(right.front()))
    throw UsageError(
        fmt::format("{} '{}': {} stands behind '->'; write axes in parentheses, a dtype or a layout there, as in "
                    "'-> (1,0)', '-> f16' or '-> f32 (6)'",
                    command, what, right.empty() ? "nothing" : fmt::format("'{}'", right)));
  out.dst = layout_named(right);
  return out;
}

}  // namespace restride::tools
