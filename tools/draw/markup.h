// Text of SVG and HTML. All that is put between tags or into an attribute goes through `escaped`, here and nowhere
// else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace restride::draw {

/// Text as it may stand between tags and in quoted attributes. What is not UTF-8, and control characters, become
/// U+FFFD.
std::string escaped(std::string_view text);

/// A number with at most two decimals and no more digits than it needs: 12, 3.5, 0.25.
std::string number(double value);

/// An attribute: its name, and its value as text or as a number.
struct Attribute {
  std::string_view name;
  std::string value;

  Attribute(std::string_view n, std::string_view v) : name(n), value(v) {}
  Attribute(std::string_view n, const char* v) : name(n), value(v) {}
  Attribute(std::string_view n, const std::string& v) : name(n), value(v) {}
  Attribute(std::string_view n, double v) : name(n), value(number(v)) {}
  Attribute(std::string_view n, int v) : name(n), value(std::to_string(v)) {}
  Attribute(std::string_view n, std::int64_t v) : name(n), value(std::to_string(v)) {}
};
using Attributes = std::initializer_list<Attribute>;

/// A document as it grows. Names of tags and attributes are the program's own; values and text may be anything.
class Markup {
 public:
  Markup& open(std::string_view tag, Attributes attributes = {});
  Markup& close();
  /// A tag with text in it, or with nothing.
  Markup& leaf(std::string_view tag, Attributes attributes, std::string_view text);
  Markup& leaf(std::string_view tag, Attributes attributes);
  Markup& text(std::string_view text);
  /// What is markup already.
  Markup& raw(std::string_view markup);

  const std::string& str() const noexcept { return out_; }
  bool empty() const noexcept { return out_.empty(); }

 private:
  void start(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string_view> open_;
};

/// A drawing: markup inside an SVG of this size.
struct Drawing {
  std::string id;     ///< a name for tests and links
  std::string title;  ///< what it shows, for those who do not see it
  double width = 0, height = 0;
  std::string markup;
};

/// As an element that an HTML page holds. Its colours are the page's (style.h).
std::string inline_svg(const Drawing& d);

/// As a file of its own, its colours inside.
std::string svg_file(const Drawing& d);

/// Some drawings above each other as one.
Drawing stacked(std::string id, std::string title, const std::vector<Drawing>& parts);

}  // namespace restride::draw
