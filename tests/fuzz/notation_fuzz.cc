// Any text as a layout, a slice or an einops pattern: a valid layout or a typed error; printing reads back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <restride/layout.hpp>

namespace {

using namespace restride;

// Lines: a layout, slices between commas, a pattern. Views must keep their promise to return valid layouts.
void read(const std::vector<std::string>& lines) {
  const Layout layout = parse_layout(lines[0]);
  if (parse_layout(to_string(layout)) != layout) std::abort();
  if (lines.size() < 2) return;
  std::vector<std::string> slices(1);
  for (const char c : lines[1])
    if (c == ',')
      slices.emplace_back();
    else
      slices.back() += c;
  const Layout view = slice(layout, slices);
  validate(view);
  const auto [first, last] = byte_range(layout);
  const auto [view_first, view_last] = byte_range(view);
  if (view_last > view_first && (view_first < first || view_last > last)) std::abort();
  if (lines.size() < 3) return;
  const bool sized = lines[2].find('p') != std::string::npos;
  const Rearrangement r = sized ? rearrange(view, lines[2], {{"p", 2}}) : rearrange(view, lines[2]);
  validate(r.source);
  const std::int64_t held = view.elements(), shown = r.source.elements();  // repeated, more
  if (held == 0 ? shown != 0 : shown % held != 0) std::abort();
  if (contiguous(view.element, r.shape).elements() != shown) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(data[i]);
  try {
    read(lines);
  } catch (const restride::Error&) {
  }
  return 0;
}
