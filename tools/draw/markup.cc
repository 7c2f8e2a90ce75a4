#include "tools/draw/markup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/base/utf8.h"
#include "tools/draw/style.h"

namespace restride::draw {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = base::character_bytes(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    const std::string_view one = text.substr(0, length);
    const auto c = static_cast<unsigned char>(one[0]);
    if (one == "&")
      out += "&amp;";
    else if (one == "<")
      out += "&lt;";
    else if (one == ">")
      out += "&gt;";
    else if (one == "\"")
      out += "&quot;";
    else if (one == "'")
      out += "&#39;";
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += "\xef\xbf\xbd";
    else
      out += one;
    text.remove_prefix(length);
  }
  return out;
}

std::string number(double value) {
  std::string out = fmt::format("{:.2f}", value);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

namespace {

/// Tags whose ends stand inside a line of text, where a line break would be a blank.
bool is_inline(std::string_view tag) {
  constexpr std::string_view kInline[] = {"a", "b", "code", "em", "span", "tspan", "small"};
  return std::find(std::begin(kInline), std::end(kInline), tag) != std::end(kInline);
}

}  // namespace

void Markup::start(std::string_view tag, Attributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& a : attributes) {
    out_ += ' ';
    out_ += a.name;
    out_ += "=\"";
    out_ += escaped(a.value);
    out_ += '"';
  }
}

Markup& Markup::open(std::string_view tag, Attributes attributes) {
  start(tag, attributes);
  out_ += '>';
  open_.push_back(tag);
  return *this;
}

Markup& Markup::close() {
  out_ += "</";
  out_ += open_.back();
  out_ += is_inline(open_.back()) ? ">" : ">\n";
  open_.pop_back();
  return *this;
}

Markup& Markup::leaf(std::string_view tag, Attributes attributes, std::string_view text) {
  start(tag, attributes);
  out_ += '>';
  out_ += escaped(text);
  out_ += "</";
  out_ += tag;
  out_ += is_inline(tag) ? ">" : ">\n";
  return *this;
}

Markup& Markup::leaf(std::string_view tag, Attributes attributes) {
  start(tag, attributes);
  out_ += "/>\n";
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += escaped(text);
  return *this;
}

Markup& Markup::raw(std::string_view markup) {
  out_ += markup;
  return *this;
}

namespace {

std::string svg(const Drawing& d, bool whole_file) {
  Markup out;
  const std::string box = fmt::format("0 0 {} {}", number(d.width), number(d.height));
  if (whole_file)
    out.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                     {"viewBox", box},
                     {"width", d.width},
                     {"height", d.height},
                     {"id", d.id},
                     {"role", "img"},
                     {"aria-labelledby", d.id + "-title"},
                     {"class", "drawing"}});
  else
    out.open("svg", {{"viewBox", box},
                     {"width", d.width},
                     {"height", d.height},
                     {"id", d.id},
                     {"role", "img"},
                     {"aria-labelledby", d.id + "-title"},
                     {"class", "drawing"}});
  out.leaf("title", {{"id", d.id + "-title"}}, d.title);
  if (whole_file) {
    out.raw("<style>").raw(drawing_style()).raw("</style>\n");
    out.leaf("rect", {{"class", "paper"}, {"width", d.width}, {"height", d.height}});
  }
  return out.raw(d.markup).close().str();
}

}  // namespace

std::string inline_svg(const Drawing& d) { return svg(d, false); }
std::string svg_file(const Drawing& d) { return svg(d, true); }

Drawing stacked(std::string id, std::string title, const std::vector<Drawing>& parts) {
  constexpr double kMargin = 16, kGap = 22;
  Drawing out{std::move(id), std::move(title), 0, kMargin, {}};
  Markup m;
  for (const Drawing& part : parts) {
    m.open("g", {{"id", part.id}, {"transform", fmt::format("translate({} {})", number(kMargin), number(out.height))}});
    m.raw(part.markup).close();
    out.width = std::max(out.width, part.width + 2 * kMargin);
    out.height += part.height + kGap;
  }
  out.height += kMargin - kGap;
  out.markup = m.str();
  return out;
}

}  // namespace restride::draw
