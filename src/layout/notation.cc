// The notation: one printer, one parser. Grammar and examples stand in restride/layout.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/checked.h"
#include "src/layout/describe.h"
#include "src/layout/dtype_names.h"

namespace restride {
namespace layout {

std::string join(std::span<const std::int64_t> values) { return fmt::format("({})", fmt::join(values, ",")); }

std::string join_extents(const Modes& modes) {
  detail::FixedVector<std::int64_t, kMaxRank> extents;
  for (const Mode& m : modes) extents.push_back(m.extent);
  return join({extents.data(), extents.size()});
}

std::string extents_but_strides(std::size_t extents, std::size_t strides) {
  return fmt::format("{} but {}", counted(extents, "extent"), counted(strides, "stride"));
}

}  // namespace layout

std::string to_string(const Element& e) {
  if (e.dtype == DType::kBytes) return fmt::format("b{}", e.size_bytes);
  return std::string(name(e.dtype));
}

std::string to_string(const Layout& l) {
  const std::int64_t size = std::max<std::int64_t>(l.element.size_bytes, 1);  // messages also name what is wrong
  bool whole = l.offset_bytes % size == 0;
  for (const Mode& m : l.modes) whole &= m.stride_bytes % size == 0;
  const std::int64_t unit = whole ? size : 1;
  detail::FixedVector<std::int64_t, kMaxRank> strides;
  for (const Mode& m : l.modes) strides.push_back(m.stride_bytes / unit);
  std::string out = fmt::format("{} {}:{}{}", to_string(l.element), layout::join_extents(l.modes),
                                layout::join({strides.data(), strides.size()}), whole ? "" : "b");
  if (l.offset_bytes != 0) out += fmt::format("@{}", l.offset_bytes / unit);
  return out;
}

namespace {

/// A number and where it stands.
struct Number {
  std::int64_t value = 0;
  std::size_t at = 0;
};
using Numbers = detail::FixedVector<Number, kMaxRank>;

/// A cursor over the text that knows how to complain.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool done() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!accept(c)) fail(fmt::format("expected '{}' {}", c, what));
  }
  /// Where the next thing stands.
  std::size_t place() {
    skip_spaces();
    return at_;
  }
  /// What stands in front of the next blank or parenthesis.
  std::string_view word() {
    const std::size_t start = place();
    at_ = std::min(text_.find_first_of(" \t(", start), text_.size());
    return text_.substr(start, at_ - start);
  }
  Number integer() {
    Number out{0, place()};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out.value);
    if (error == std::errc::result_out_of_range) fail("a number that does not fit 63 bits");
    if (error != std::errc{}) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }
  Numbers list(const char* what) {
    Numbers out;
    expect('(', what);
    if (accept(')')) return out;
    do {
      skip_spaces();
      if (!out.empty() && at_ < text_.size() && text_[at_] == ')') break;  // (8,) as Python writes it
      if (out.full()) fail(fmt::format("more than {} modes", kMaxRank));
      out.push_back(integer());
    } while (accept(','));
    expect(')', "behind the list");
    return out;
  }
  void expect_end(const char* behind) {
    if (!done()) fail(fmt::format("'{}' stands behind {}", text_.substr(at_), behind));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const {
    throw ParseError(
        fmt::format("layout '{}', column {}: {}; write for example 'f32 (8,64):(64,1)'", text_, at + 1, what));
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Element read_element(Reader& in) {
  const std::size_t at = in.place();
  const std::string_view word = in.word();
  if (const std::optional<Element> element = parse_element(word)) return *element;
  in.fail_at(at, word.empty() ? "the element type is missing"
                              : fmt::format("'{}' is no element type{}", word, layout::dtype_hint(word)));
}

}  // namespace

Layout parse_layout(std::string_view text) {
  using Values = detail::FixedVector<std::int64_t, kMaxRank>;
  Reader in(text);
  const Element element = read_element(in);
  Values extents, strides;
  for (const Number& extent : in.list("before the extents")) {
    if (extent.value < 0) in.fail_at(extent.at, fmt::format("extent {} is negative", extent.value));
    extents.push_back(extent.value);
  }
  std::int64_t unit = element.size_bytes;
  const bool has_strides = in.accept(':');
  if (has_strides) {
    const std::size_t at = in.place();
    const Numbers written = in.list("before the strides");
    if (written.size() != extents.size()) in.fail_at(at, layout::extents_but_strides(extents.size(), written.size()));
    if (in.accept('b')) unit = 1;
    for (const Number& stride : written) {
      strides.push_back(0);
      if (!checked_mul(stride.value, unit, &strides.back()))
        in.fail_at(stride.at, "a stride that does not fit 63 bits in bytes");
    }
  }
  std::int64_t offset_bytes = 0;
  if (in.accept('@')) {
    const Number offset = in.integer();
    if (!checked_mul(offset.value, unit, &offset_bytes))
      in.fail_at(offset.at, "an offset that does not fit 63 bits in bytes");
  }
  in.expect_end(has_strides ? "the layout" : "the extents");
  if (has_strides)
    return strided(element, {extents.data(), extents.size()}, {strides.data(), strides.size()}, offset_bytes);
  Layout out = contiguous(element, {extents.data(), extents.size()});
  out.offset_bytes = offset_bytes;
  validate(out);
  return out;
}

}  // namespace restride
