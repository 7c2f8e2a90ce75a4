#include "tools/view_options.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/io/array_entry.h"
#include "tools/list_values.h"

namespace restride::tools {
namespace {

Extents extents_of(const detail::FixedVector<std::int64_t, kMaxRank>& v) { return {v.data(), v.size()}; }

detail::FixedVector<std::int64_t, kMaxRank> shape_of(const Modes& modes) {
  detail::FixedVector<std::int64_t, kMaxRank> out;
  for (const Mode& m : modes) out.push_back(m.extent);
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> parse_sizes(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::optional<std::int64_t> number;
    if (equals != std::string::npos && equals > 0)
      number = parse_number(fmt::format("--size '{}'", text), std::string_view(text).substr(equals + 1));
    if (!number) throw UsageError(fmt::format("--size '{}': write NAME=NUMBER, as in --size b2=4", text));
    const std::int64_t value = *number;
    if (value < 0) throw UsageError(fmt::format("--size {}: sizes are 0 or more", text));
    if (std::any_of(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == name; }))
      throw UsageError(fmt::format("--size: the size of '{}' is given twice", name));
    sizes.emplace_back(name, value);
  }
  return sizes;
}

// A name that the pattern lacks is seen without any array.
void require_names(const std::vector<std::pair<std::string, std::int64_t>>& sizes, const std::string& pattern) {
  const auto ends_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; };
  for (const auto& [name, value] : sizes) {
    bool found = false;
    for (auto at = pattern.begin(); at != pattern.end() && !found;) {
      const auto end = std::find_if(at, pattern.end(), ends_word);
      found = std::string(at, end) == name;
      at = end == pattern.end() ? end : end + 1;
    }
    if (!found) throw UsageError(fmt::format("--size {}={}: '{}' does not name a mode so", name, value, pattern));
  }
}

// What is wrong with axes and extents whatever the array; -1 may be the same axis as another number or not.
void require_possible(const ViewOptions& o) {
  for (const auto& [what, modes] : {std::pair("axes", &o.axes), std::pair("--flip: modes", &o.flip)}) {
    std::vector<std::int64_t> sorted = *modes;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw UsageError(
          fmt::format("{} ({}) name mode {} twice; give each mode once", what, fmt::join(*modes, ","), *twice));
  }
  if (std::any_of(o.broadcast.begin(), o.broadcast.end(), [](std::int64_t e) { return e < 0; }))
    throw UsageError(fmt::format("--broadcast ({}): extents are 0 or more", fmt::join(o.broadcast, ",")));
}

Layout flip_all(Layout layout, const std::vector<std::int64_t>& modes) {
  std::set<std::int64_t> seen;
  for (const std::int64_t mode : modes) {
    const int rank = layout.rank();
    if (rank == 0) throw ShapeError(fmt::format("--flip {}: {} has no modes", mode, to_string(layout)));
    if (mode < -rank || mode >= rank)
      throw ShapeError(fmt::format("--flip {}: {} has modes {} to {}", mode, to_string(layout), -rank, rank - 1));
    const std::int64_t m = mode < 0 ? mode + rank : mode;
    if (!seen.insert(m).second)
      throw ShapeError(
          fmt::format("--flip: modes ({}) name mode {} twice; give each mode once", fmt::join(modes, ","), m));
    layout = flip(layout, static_cast<int>(m));
  }
  return layout;
}

// Brings both sides to equal extents by a view of one of them.
void unify(Layout& dst, Layout& src) {
  const auto src_shape = shape_of(src.modes), dst_shape = shape_of(dst.modes);
  if (src_shape == dst_shape) return;
  try {
    dst = reshape(dst, extents_of(src_shape));
    return;
  } catch (const ShapeError&) {  // no strides describe it; try the other side
  }
  try {
    src = reshape(src, extents_of(dst_shape));
  } catch (const ShapeError&) {
    throw ShapeError(fmt::format(
        "{} cannot be reshaped and written in Fortran order in one pass; reshape first, then copy with --order F",
        to_string(src)));
  }
}

}  // namespace

Element element_named(const std::string& name) {
  if (const std::optional<Element> e = parse_element(name)) return *e;
  std::string known;
  for (int i = 0; i < kDTypeCount; ++i) known += fmt::format("{}, ", restride::name(static_cast<DType>(i)));
  throw UsageError(fmt::format("there is no dtype '{}'; there are {}and bN for N opaque bytes", name, known));
}

void add_view_options(CLI::App& sub, ViewOptions& o) {
  const std::string group = "What becomes of it (applied in this order)";
  const auto text = [&](const std::string& name, std::string& value, const char* type, const char* help) {
    return sub.add_option(name, value, help)->type_name(type)->group(group);
  };
  const auto numbers = [&](const std::string& name, std::vector<std::int64_t>& value, const char* type,
                           const char* help) {
    const auto read = [name, &value](const std::string& word) { value = parse_numbers(name, word); };
    return sub.add_option_function<std::string>(name, read, help)->type_name(type)->group(group);
  };
  text("--slice", o.slice, "SLICES",
       "Python slices, one a mode: 8:16392,::-1; a number keeps that index and drops the mode");
  numbers("--flip", o.flip, "MODES", "Reverse these modes: 0,1; negative ones count from the end");
  numbers("--broadcast", o.broadcast, "EXTENTS", "Repeat modes of extent 1 up to these extents: 8,64,64");
  auto* axes = numbers("--axes", o.axes, "AXES", "Output mode j is input mode AXES[j]: 0,3,1,2");
  auto* rearrange =
      text("--rearrange", o.rearrange, "PATTERN",
           "The same in einops notation, split and merge included: 'b (h s) c -> b h (s c)', 'b ... c -> b (... c)'");
  axes->excludes(rearrange);
  sub.add_option("--size", o.sizes, "Extent of a name in --rearrange: s=4; may be repeated")
      ->needs(rearrange)
      ->allow_extra_args(false)
      ->type_name("NAME=N")
      ->group(group);
  numbers("--reshape", o.reshape, "EXTENTS", "Shape of the result, elements in C order; one extent may be -1");
  text("--dtype", o.dtype, "DTYPE", "Convert to f32, f16, bf16, u8 ...; see docs/casts.md for how");
  text("--order", o.order, "C|F", "Memory order of the output: C (last mode fastest, the default) or F (first)")
      ->check(CLI::IsMember({"C", "F"}));
}

bool any(const ViewOptions& o) {
  return !o.slice.empty() || !o.flip.empty() || !o.broadcast.empty() || !o.axes.empty() || !o.rearrange.empty() ||
         !o.reshape.empty() || !o.dtype.empty() || o.order != "C";
}

CopyRequest apply(const ViewOptions& o, const Layout& input) {
  require_possible(o);
  CopyRequest request;
  Layout src = input;
  if (!o.slice.empty())
    src = from_command_line<ParseError, ArgumentError>([&] {
      return slice(src,
                   entries_of("--slice", o.slice, "write ':' for a mode that stays whole, or leave out its comma"));
    });
  src = flip_all(src, o.flip);
  if (!o.broadcast.empty()) src = broadcast_to(src, o.broadcast);
  if (!o.axes.empty()) src = permute(src, o.axes);
  auto shape = shape_of(src.modes);
  if (!o.rearrange.empty()) {
    const auto sizes = parse_sizes(o.sizes);
    require_names(sizes, o.rearrange);
    const Rearrangement r =
        from_command_line<ParseError, ArgumentError>([&] { return rearrange(src, o.rearrange, sizes); });
    src = r.source;
    shape = shape_of(r.merged);
  }
  if (!o.reshape.empty()) {
    const Layout unshaped = contiguous(src.element, extents_of(shape));
    shape = shape_of(from_command_line<ArgumentError>([&] { return reshape(unshaped, o.reshape); }).modes);
  }
  const Element element = o.dtype.empty() ? src.element : element_named(o.dtype);
  if (!castable(element, src.element) && (src.element.dtype == DType::kBytes || element.dtype == DType::kBytes))
    throw CastError(
        fmt::format("{} cannot become {}: opaque bytes move, they never convert; --in-dtype says what "
                    "a file's really are",
                    to_string(src.element), to_string(element)));
  request.fortran_order = o.order == "F";
  request.result = request.dst = io::dense(element, extents_of(shape), request.fortran_order);
  if (request.dst.elements() > 0) unify(request.dst, src);
  request.src = src;
  return request;
}

}  // namespace restride::tools
