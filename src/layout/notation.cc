// The notation: one printer, one parser. Grammar and examples stand in restride/layout.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/checked.h"
#include "src/layout/describe.h"

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

std::optional<Element> parse_element(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (text == name(static_cast<DType>(i))) return Element(static_cast<DType>(i));
  if (text.size() < 2 || text[0] != 'b') return std::nullopt;
  std::int32_t n = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 1) return std::nullopt;
  return Element::bytes(n);
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
  std::string_view word() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0)) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::int64_t integer() {
    skip_spaces();
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error == std::errc::result_out_of_range) fail("a number that does not fit 63 bits");
    if (error != std::errc{}) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return v;
  }
  detail::FixedVector<std::int64_t, kMaxRank> list(const char* what) {
    detail::FixedVector<std::int64_t, kMaxRank> out;
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
  [[noreturn]] void fail(const std::string& what) const {
    throw ParseError(
        fmt::format("layout '{}', column {}: {}; write for example 'f32 (8,64):(64,1)'", text_, at_ + 1, what));
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Layout parse_layout(std::string_view text) {
  Reader in(text);
  const std::string_view word = in.word();
  const std::optional<Element> element = parse_element(word);
  if (!element)
    in.fail(
        fmt::format("'{}' is no element type (bool, u8..u64, i8..i64, f16, bf16, f32, f64, f8e4m3, "
                    "f8e5m2, c64, c128, or b12 for twelve opaque bytes)",
                    word));
  const auto extents = in.list("before the extents");
  for (std::int64_t e : extents)
    if (e < 0) in.fail(fmt::format("extent {} is negative", e));
  auto strides = extents;
  std::int64_t unit = element->size_bytes;
  const bool has_strides = in.accept(':');
  if (has_strides) {
    strides = in.list("before the strides");
    if (strides.size() != extents.size()) in.fail(layout::extents_but_strides(extents.size(), strides.size()));
    if (in.accept('b')) unit = 1;
    for (std::int64_t& s : strides)
      if (!checked_mul(s, unit, &s)) in.fail("a stride that does not fit 63 bits in bytes");
  }
  std::int64_t offset_bytes = 0;
  if (in.accept('@') && !checked_mul(in.integer(), unit, &offset_bytes))
    in.fail("an offset that does not fit 63 bits in bytes");
  if (!in.done()) in.fail(has_strides ? "text behind the layout" : "text behind the extents");
  if (has_strides)
    return strided(*element, {extents.data(), extents.size()}, {strides.data(), strides.size()}, offset_bytes);
  Layout out = contiguous(*element, {extents.data(), extents.size()});
  out.offset_bytes = offset_bytes;
  validate(out);
  return out;
}

}  // namespace restride
