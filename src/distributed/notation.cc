// The notation of distributions: one printer, one parser. Grammar and examples stand in restride/distributed.hpp.
#include <restride/distributed.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/distributed/regions.h"

namespace restride::distributed {
namespace {

std::string shown(const Split& s) {
  std::string out = s.kind == SplitKind::kBlock ? "block" : s.kind == SplitKind::kCeil ? "ceil" : "cyclic";
  if (s.kind == SplitKind::kCyclic && s.block != 1) out += fmt::format(":{}", s.block);
  out += fmt::format("[{}]", fmt::join(s.grid_axes, ","));
  if (s.first != 0) out += fmt::format("@{}", s.first);
  return out;
}

std::string shown(const std::vector<Split>& splits) {
  if (splits.empty()) return "*";
  std::string out;
  for (const Split& s : splits) {
    if (!out.empty()) out += '/';
    out += shown(s);
  }
  return out;
}

std::string shown(const Box& b) {
  std::string out = fmt::format("{}[", b.rank);
  for (std::size_t a = 0; a < b.lo.size(); ++a) out += fmt::format("{}{}:{}", a == 0 ? "" : ",", b.lo[a], b.hi[a]);
  return out + "]";
}

/// A cursor over the text that knows how to complain.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool accept(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool sees(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool done() {
    skip_spaces();
    return at_ == text_.size();
  }
  void expect(std::string_view word, std::string_view where) {
    if (!accept(word)) fail(fmt::format("expected '{}' {}", word, where));
  }
  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("a number that does not fit 63 bits");
    if (error != std::errc{}) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  int small_integer() {
    const std::size_t at = at_;
    const std::int64_t value = integer();
    if (value < -kMaxRanks || value > kMaxRanks) {
      at_ = at;
      fail(fmt::format("{} is neither a rank nor an axis", value));
    }
    return static_cast<int>(value);
  }
  /// Numbers with commas between them; the opening mark is behind us.
  template <class T>
  std::vector<T> list(char close, std::size_t most) {
    std::vector<T> out;
    const std::string_view closing(&close, 1);
    while (!accept(closing)) {
      if (!out.empty()) {
        expect(",", "between numbers");
        if (accept(closing)) break;  // (8,) as Python writes it
      }
      if (out.size() == most) fail(fmt::format("more than {} numbers", most));
      if constexpr (std::is_same_v<T, int>)
        out.push_back(small_integer());
      else
        out.push_back(integer());
    }
    return out;
  }
  [[noreturn]] void fail(const std::string& what) const {
    const bool is_long = text_.size() > 400;
    throw ParseError(
        fmt::format("distribution '{}{}', column {}: {}; write for example '(64,32) as (block[0],*) over (4)'",
                    text_.substr(0, 400), is_long ? "..." : "", at_ + 1, what));
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

Split read_split(Cursor& in) {
  Split s;
  if (in.accept("block")) {
    s.kind = SplitKind::kBlock;
  } else if (in.accept("ceil")) {
    s.kind = SplitKind::kCeil;
  } else if (in.accept("cyclic")) {
    s.kind = SplitKind::kCyclic;
    if (in.accept(":")) s.block = in.integer();
  } else {
    in.fail("expected '*', 'block', 'ceil' or 'cyclic'");
  }
  in.expect("[", "before the grid axes");
  s.grid_axes = in.list<int>(']', kMaxRank);
  if (s.kind == SplitKind::kCyclic && in.accept("@")) s.first = in.integer();
  return s;
}

std::vector<Split> read_axis(Cursor& in) {
  std::vector<Split> out;
  if (in.accept("*")) return out;
  do {
    if (out.size() == kMaxRank) in.fail(fmt::format("more than {} splits of one axis", kMaxRank));
    out.push_back(read_split(in));
  } while (in.accept("/"));
  return out;
}

Grid read_grid(Cursor& in) {
  Grid g;
  in.expect("(", "before the grid's sizes");
  g.sizes = in.list<std::int64_t>(')', kMaxRank);
  if (in.accept("=")) {
    in.expect("(", "before the ranks");
    g.ranks = in.list<int>(')', kMaxRanks);
    return g;
  }
  if (in.accept(":")) {
    in.expect("(", "before the grid's strides");
    g.strides = in.list<std::int64_t>(')', kMaxRank);
  }
  if (in.accept("@")) g.first = in.integer();
  return g;
}

Box read_box(Cursor& in) {
  Box b;
  b.rank = in.small_integer();
  in.expect("[", "behind a box's rank");
  while (!in.accept("]")) {
    if (!b.lo.empty()) in.expect(",", "between the bounds of two axes");
    if (b.lo.size() == kMaxRank) in.fail(fmt::format("more than {} axes", kMaxRank));
    b.lo.push_back(in.integer());
    in.expect(":", "between the bounds of an axis");
    b.hi.push_back(in.integer());
  }
  return b;
}

}  // namespace

std::string to_string(const Distribution& d) {
  std::string out = listed(d.shape);
  if (d.by_boxes) {
    out += " boxes";
    for (const Box& b : d.boxes) out.append(1, ' ').append(shown(b));
  } else {
    std::vector<std::string> axes;
    for (const std::vector<Split>& splits : d.axes) axes.push_back(shown(splits));
    out += fmt::format(" as ({}) over {}", fmt::join(axes, ","), listed(d.grid.sizes));
    if (!d.grid.ranks.empty()) {
      out.append(1, '=').append(listed(d.grid.ranks));
    } else {
      if (!d.grid.strides.empty()) out.append(1, ':').append(listed(d.grid.strides));
      if (d.grid.first != 0) out += fmt::format("@{}", d.grid.first);
    }
  }
  if (!d.order.empty()) out.append(" order ").append(listed(d.order));
  return out;
}

Distribution parse_distribution(std::string_view text) {
  Cursor in(text);
  Distribution d;
  in.expect("(", "before the shape");
  d.shape = in.list<std::int64_t>(')', kMaxRank);
  if (in.accept("boxes")) {
    d.by_boxes = true;
    while (!in.done() && !in.sees('o')) d.boxes.push_back(read_box(in));
  } else {
    in.expect("as", "or 'boxes' behind the shape");
    in.expect("(", "before the axes");
    while (!in.accept(")")) {
      if (!d.axes.empty()) in.expect(",", "between two axes");
      if (d.axes.size() == kMaxRank) in.fail(fmt::format("more than {} axes", kMaxRank));
      d.axes.push_back(read_axis(in));
    }
    in.expect("over", "behind the axes");
    d.grid = read_grid(in);
  }
  if (in.accept("order")) {
    in.expect("(", "before the axes in memory order");
    d.order = in.list<int>(')', kMaxRank);
  }
  if (!in.done()) in.fail("something stands behind the distribution");
  validate(d);
  return d;
}

}  // namespace restride::distributed
