// Slices as Python takes and writes them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/checked.h"
#include "src/layout/describe.h"
#include "src/layout/view_checks.h"

namespace restride {
namespace {

/// "a:b:c" between the colons, or a lone index.
struct SliceText {
  detail::FixedVector<std::optional<std::int64_t>, 3> parts;
  bool has_colon = false;
};

/// Reads a number from `at` on, if there is one, and the blanks around it.
std::optional<std::int64_t> read_number(std::string_view text, std::size_t* at, const ParseError& malformed) {
  const auto skip_blanks = [&] {
    while (*at < text.size() && text[*at] == ' ') ++*at;
  };
  skip_blanks();
  if (*at == text.size() || text[*at] == ':') return std::nullopt;
  std::int64_t value = 0;
  const char* begin = text.data() + *at + (text[*at] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw ParseError(
        fmt::format("slice '{}': a number there does not fit 63 bits; leave it out to mean the end", text));
  if (error != std::errc{}) throw malformed;
  *at = static_cast<std::size_t>(end - text.data());
  skip_blanks();
  return value;
}

SliceText parse_slice(std::string_view text) {
  const ParseError malformed(
      fmt::format("slice '{}': write start:stop, start:stop:step or an index, as in Python", text));
  if (text.find("...") != std::string_view::npos)
    throw ParseError(fmt::format("slice '{}': dots are not taken; write ':' for each mode that stays whole", text));
  SliceText out;
  for (std::size_t at = 0;; ++at) {
    const std::optional<std::int64_t> value = read_number(text, &at, malformed);
    if (out.parts.full()) throw malformed;
    out.parts.push_back(value);
    if (at == text.size()) break;
    if (text[at] != ':') throw malformed;
    out.has_colon = true;
  }
  if (!out.has_colon && !out.parts[0]) throw malformed;
  return out;
}

/// Keeps one index of a mode and drops the mode.
Layout take_index(const Layout& l, int mode, std::int64_t index) {
  const Mode& m = l.modes[static_cast<std::size_t>(mode)];
  const std::int64_t place = index < 0 ? index + m.extent : index;
  if (place < 0 || place >= m.extent)
    throw ShapeError(fmt::format(
        "slice: index {} of mode {} in {}, which has {} there; {}", index, mode, to_string(l),
        layout::counted(static_cast<std::size_t>(m.extent), "element"),
        m.extent == 0 ? "write ':' to keep it" : fmt::format("use 0 to {} or {} to -1", m.extent - 1, -m.extent)));
  Layout out = l;
  if (l.elements() > 0) out.offset_bytes += place * m.stride_bytes;
  out.modes.erase(static_cast<std::size_t>(mode));
  return out;
}

}  // namespace

Layout slice(const Layout& l, int mode, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
             std::int64_t step) {
  const auto m = static_cast<std::size_t>(layout::checked_mode(l, mode, "slice"));
  if (step == 0) throw ArgumentError(fmt::format("slice: mode {} has step 0; use 1, or a negative step to reverse", m));
  const std::int64_t n = l.modes[m].extent;
  // Python's rule: where an index may stand depends on the direction of the walk.
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? n : n - 1;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + n : i, lowest, highest); };
  const std::int64_t first = start ? place(*start) : (step > 0 ? lowest : highest);
  const std::int64_t last = stop ? place(*stop) : (step > 0 ? highest : lowest);
  const std::uint64_t distance = static_cast<std::uint64_t>(step > 0 ? last - first : first - last);
  const bool none = step > 0 ? last <= first : last >= first;
  Layout out = l;
  Mode& mode_out = out.modes[m];
  mode_out.extent = none ? 0 : static_cast<std::int64_t>((distance - 1) / magnitude(step) + 1);
  // Where there are no elements at all, places need not fit and do not matter.
  if (l.elements() == 0) return out;
  if (mode_out.extent > 0) out.offset_bytes += first * l.modes[m].stride_bytes;
  // A single element has no next one, so its stride may keep the old value; more than one fits by construction.
  if (mode_out.extent > 1) mode_out.stride_bytes = l.modes[m].stride_bytes * step;
  return out;
}

Layout slice(const Layout& l, Slices slices) {
  if (slices.size() > l.modes.size())
    throw ShapeError(fmt::format("slice: {} for {}, which has {}; drop some", layout::counted(slices.size(), "slice"),
                                 to_string(l), layout::counted(l.modes.size(), "mode")));
  Layout out = l;
  int mode = 0;
  for (const std::string& text : slices) {
    const SliceText s = parse_slice(text);
    if (!s.has_colon) {
      out = take_index(out, mode, *s.parts[0]);
      continue;
    }
    const std::optional<std::int64_t> step = s.parts.size() == 3 ? s.parts[2] : std::nullopt;
    out = slice(out, mode, s.parts[0], s.parts[1], step.value_or(1));
    ++mode;
  }
  return out;
}

}  // namespace restride
