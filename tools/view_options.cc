#include "tools/view_options.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/layout/describe.h"
#include "tools/commands.h"
#include "tools/io/array_entry.h"
#include "tools/io/text.h"
#include "tools/list_values.h"
#include "tools/view_sequence.h"

namespace restride::tools {
namespace {

struct ViewRow {
  ViewKind kind;
  const char* option;
  const char* type;
  const char* help;
};

constexpr ViewRow kViews[] = {
    {ViewKind::kSlice, "--slice", "SLICES",
     "Python slices, one a mode: 8:16392,::-1; a number keeps that index and drops the mode, ... stands for all that "
     "are not named; bounds beyond the end are cut, and the report says so"},
    {ViewKind::kFlip, "--flip", "MODES", "Reverse these modes: 0,1; negative ones count from the end"},
    {ViewKind::kRot90, "--rot90", "K", "Turn the first two modes K times by 90 degrees, as numpy.rot90"},
    {ViewKind::kBroadcast, "--broadcast", "EXTENTS", "Repeat modes of extent 1 up to these extents: 8,64,64"},
    {ViewKind::kAxes, "--axes", "AXES", "Output mode j is input mode AXES[j]: 0,3,1,2"},
    {ViewKind::kRearrange, "--rearrange", "PATTERN",
     "The same in einops notation, split and merge included: 'b (h s) c -> b h (s c)', 'b ... c -> b (... c)'"},
    {ViewKind::kReshape, "--reshape", "EXTENTS", "Other extents, elements in C order; one extent may be -1"},
};

const char* option_of(ViewKind kind) {
  return std::find_if(std::begin(kViews), std::end(kViews), [&](const ViewRow& row) { return row.kind == kind; })
      ->option;
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

// -1 may be the same mode as another number or not; the array tells.
void require_each_once(const std::string& shown, const std::vector<std::int64_t>& modes) {
  std::vector<std::int64_t> sorted = modes;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw UsageError(
        fmt::format("{} ({}) names mode {} twice; give each mode once", shown, fmt::join(modes, ","), *twice));
}

// As in Python: one `...` is as many `:` as the rest leaves modes.
std::vector<std::string> slices_of(const std::string& text, int rank) {
  std::vector<std::string> entries =
      entries_of("--slice", text, "write ':' for a mode that stays whole, or leave out its comma");
  const auto dots = std::find(entries.begin(), entries.end(), "...");
  if (dots == entries.end()) return entries;
  if (std::find(dots + 1, entries.end(), "...") != entries.end())
    throw UsageError(fmt::format("--slice '{}': '...' stands there twice; it can mean all other modes once", text));
  const auto whole = rank - static_cast<std::ptrdiff_t>(entries.size()) + 1;
  const auto at = entries.erase(dots);
  entries.insert(at, static_cast<std::size_t>(std::max<std::ptrdiff_t>(whole, 0)), ":");
  return entries;
}

/// The entries that go beyond the end of their mode, where Python and this command cut them without an error. A step
/// downwards may end before the first element: that is how it takes the first one, too.
std::string cut_entries(const std::vector<std::string>& entries, const Layout& layout) {
  std::string out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::int64_t extent = layout.modes[i].extent;
    std::int64_t bounds[3] = {0, 0, 1};  // start, stop, step
    std::size_t colons = 0;
    for (std::string_view rest = entries[i]; colons < 3; ++colons) {
      const std::size_t colon = rest.find(':');
      if (const std::string number(io::trimmed(rest.substr(0, colon))); !number.empty())
        bounds[colons] = std::stoll(number);
      if (colon == std::string_view::npos) break;
      rest.remove_prefix(colon + 1);
    }
    const auto beyond = [&](std::int64_t bound) { return bound > extent || bound < -extent; };
    if (colons == 0 || (!beyond(bounds[0]) && (bounds[2] < 0 || !beyond(bounds[1])))) continue;
    out += fmt::format("{}'{}' goes beyond the {} of its mode and is cut there", out.empty() ? "" : ", ",
                       io::escaped(entries[i]), extent);
  }
  return out;
}

/// What a user may not expect of the view; mostly empty.
std::string add_to(ViewSequence& sequence, const View& view,
                   const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
  switch (view.kind) {
    case ViewKind::kSlice: {
      const std::vector<std::string> entries = slices_of(view.text, sequence.contiguous().rank());
      const Layout before = sequence.contiguous();
      from_command_line<ParseError, ArgumentError>([&] { sequence.slice(entries); });
      return cut_entries(entries, before);
    }
    case ViewKind::kFlip: sequence.flip(view.numbers); break;
    case ViewKind::kRot90: sequence.rot90(view.numbers[0]); break;
    case ViewKind::kBroadcast: sequence.broadcast(view.numbers); break;
    case ViewKind::kAxes: sequence.permute(view.numbers); break;
    case ViewKind::kRearrange:
      require_names(sizes, view.text);
      from_command_line<ParseError, ArgumentError>([&] { sequence.rearrange(view.text, sizes); });
      break;
    case ViewKind::kReshape: from_command_line<ArgumentError>([&] { sequence.reshape(view.numbers); }); break;
  }
  return {};
}

}  // namespace

Element element_named(const std::string& name) {
  return from_command_line<ParseError>([&] { return restride::element_named(name); });
}

View read_view(ViewKind kind, const std::string& shown, const std::string& text) {
  View view{kind, text, {}};
  if (kind == ViewKind::kSlice || kind == ViewKind::kRearrange) return view;
  view.numbers = parse_numbers(shown, text);
  if (kind == ViewKind::kAxes || kind == ViewKind::kFlip) require_each_once(shown, view.numbers);
  if (kind == ViewKind::kRot90 && view.numbers.size() != 1)
    throw UsageError(fmt::format("{} '{}': write one whole number of quarter turns", shown, text));
  if (kind == ViewKind::kRot90 && view.numbers[0] != 0 && view.numbers[0] % 90 == 0)
    throw UsageError(fmt::format("{0} {1}: it counts quarter turns, not degrees; write {0} {2}", shown, view.numbers[0],
                                 view.numbers[0] / 90));
  if (kind == ViewKind::kBroadcast &&
      std::any_of(view.numbers.begin(), view.numbers.end(), [](std::int64_t e) { return e < 0; }))
    throw UsageError(fmt::format("{} ({}): extents are 0 or more", shown, fmt::join(view.numbers, ",")));
  return view;
}

void add_view_options(CLI::App& sub, ViewOptions& o) {
  const std::string group = "What becomes of it (views apply in the order typed)";
  for (const ViewRow& row : kViews) {
    const auto read = [&sub, &o, row](const std::string& text) {
      o.views.push_back(read_view(row.kind, row.option, text));
      // The parser calls back in the order in which options were added, and knows the one in which they were typed.
      const auto place = [&sub](const View& v) {
        const auto& typed = sub.parse_order();
        return std::find(typed.begin(), typed.end(), sub.get_option(option_of(v.kind))) - typed.begin();
      };
      std::sort(o.views.begin(), o.views.end(), [&](const View& a, const View& b) { return place(a) < place(b); });
    };
    sub.add_option_function<std::string>(row.option, read, row.help)->type_name(row.type)->group(group);
  }
  CLI::Option* rearrange = sub.get_option("--rearrange");
  sub.get_option("--axes")->excludes(rearrange);
  sub.add_option("--size", o.sizes, "Extent of a name in --rearrange: s=4; may be repeated")
      ->needs(rearrange)
      ->allow_extra_args(false)
      ->type_name("NAME=N")
      ->group(group);
  sub.add_option("--dtype", o.dtype, "Convert to f32, f16, bf16, u8 ...; see docs/casts.md for how")
      ->type_name("DTYPE")
      ->group(group);
  sub.add_option("--order", o.order, "Memory order of the output: C (last mode fastest, the default) or F (first)")
      ->transform(CLI::IsMember({"C", "F"}, CLI::ignore_case))
      ->type_name("C|F")
      ->group(group);
}

bool any(const ViewOptions& o) { return !o.views.empty() || !o.dtype.empty() || o.order != "C"; }

CopyRequest apply(const ViewOptions& o, const Layout& input) {
  CopyRequest request;
  const auto sizes = parse_sizes(o.sizes);
  ViewSequence sequence(input);
  for (const View& view : o.views) {
    std::string note = add_to(sequence, view, sizes);
    request.views.push_back(
        {option_of(view.kind), view.text, layout::join_extents(sequence.contiguous().modes), std::move(note)});
  }
  const Element element = o.dtype.empty() ? input.element : element_named(o.dtype);
  if (!castable(element, input.element) && (input.element.dtype == DType::kBytes || element.dtype == DType::kBytes))
    throw CastError(
        fmt::format("{} cannot become {}: opaque bytes move, they never convert; --in-dtype says what "
                    "a file's really are",
                    to_string(input.element), to_string(element)));
  request.fortran_order = o.order == "F";
  std::vector<std::int64_t> extents;
  for (const Mode& m : sequence.contiguous().modes) extents.push_back(m.extent);
  request.result = io::dense(element, extents, request.fortran_order);
  const ViewSequence::Pair pair = sequence.into(request.result);
  request.dst = pair.dst;
  request.src = pair.src;
  request.reshape = pair.reshape;
  return request;
}

std::string in_words(const std::vector<ViewStep>& views) {
  std::string out;
  for (const ViewStep& v : views)
    out += fmt::format("{}{} '{}' {}{}", out.empty() ? "" : ", then ", v.option, io::escaped(v.text), v.shape,
                       v.note.empty() ? "" : " (" + v.note + ")");
  return out;
}

nlohmann::ordered_json views_json(const std::vector<ViewStep>& views) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ViewStep& v : views) {
    out.push_back({{"option", v.option}, {"value", v.text}, {"shape", v.shape}});
    if (!v.note.empty()) out.back()["note"] = v.note;
  }
  return out;
}

void note_typed_order(const ViewOptions& o) {
  std::vector<ViewKind> typed;  // --rot90 is new, and has no place in the old order
  for (const View& v : o.views)
    if (v.kind != ViewKind::kRot90) typed.push_back(v.kind);
  if (std::is_sorted(typed.begin(), typed.end())) return;
  const auto list = [&] {
    std::string out;
    for (const ViewKind kind : typed) out += fmt::format("{}{}", out.empty() ? "" : ", ", option_of(kind));
    return out;
  };
  const std::string now = list();
  std::sort(typed.begin(), typed.end());
  fmt::print(stderr, "restride: note: views apply in the order typed, {}; earlier versions applied {}\n", now, list());
}

}  // namespace restride::tools
