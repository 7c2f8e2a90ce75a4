// Reads the Python literals that occur in .npy headers: strings, integers, True and False, punctuation.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <restride/error.hpp>

#include "tools/io/text.h"

namespace restride::io {

/// A cursor over text. It never recurses, so nesting in the text cannot exhaust the stack.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  /// Where the next thing stands, for fail_at.
  std::size_t place() {
    peek();
    return at_;
  }
  /// Next character that is no blank, '\0' at the end.
  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  void expect_end() {
    peek();
    if (at_ != text_.size()) fail("text follows the dictionary");
  }

  /// 'text' or "text"; escapes are refused, no valid header needs one.
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string");
    const std::size_t first = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') fail("a backslash in a string");
      ++at_;
    }
    if (at_ == text_.size()) fail("a string without end");
    return std::string(text_.substr(first, at_++ - first));
  }

  /// A decimal integer; the L that Python 2 wrote behind long ones is skipped.
  std::int64_t integer() {
    peek();
    std::int64_t value = 0;
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("a number that does not fit 63 bits");
    if (error != std::errc{}) fail("expected a number");
    at_ += static_cast<std::size_t>(end - first);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("expected True or False");
  }

  [[noreturn]] void fail(const std::string& problem) const { fail_at(at_, problem); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& problem) const {
    throw ParseError(what_ + ", column " + std::to_string(at + 1) + ": " + problem + ", near \"" +
                     printable(text_.substr(at < text_.size() ? at : text_.size(), 20)) + "\"");
  }

 private:
  std::string_view text_;
  std::string what_;
  std::size_t at_ = 0;
};

}  // namespace restride::io
