// Reading JSON text (RFC 8259) within limits, value by value.
//
// Own code, because what is read comes from strangers: nlohmann-json's values allocate where they are destroyed, in
// functions that may not throw, so that a program that runs out of memory ends there; and its parser takes up to ten
// times the bytes of a long text to say that it is none. Here memory is needed for the keys of open objects and for
// texts with escapes, once. The fuzzer json_fuzz holds the two against each other.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "src/base/json_keys.h"
#include "src/base/utf8.h"

namespace restride::base {

/// What a text may have at most. `bytes` is below 2^32.
struct JsonLimits {
  std::size_t bytes;
  int levels;                    ///< of objects and lists in one another; reading takes a call for each
  std::size_t keys = 5'000'000;  ///< of all objects together
};

/// A value that holds no others. Integers of 63 bits are signed, those of 64 unsigned, larger ones doubles. Text is
/// UTF-8 and stays where it is until the next event.
using JsonScalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string_view>;

/// Receives a text's values in their order. What an event throws ends the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void open(bool is_object) = 0;  ///< an object, else a list
  virtual void close() = 0;
  virtual void key(std::string_view name) = 0;  ///< of the value that follows
  virtual void scalar(const JsonScalar& value) = 0;
};

namespace detail {

class JsonReader {
 public:
  JsonReader(std::string_view text, const JsonLimits& limits, JsonEvents& out)
      : text_(text), limits_(limits), out_(out) {}

  void read() {
    if (text_.size() > limits_.bytes)
      throw ParseError(fmt::format("it has {} bytes; more than {} are refused", text_.size(), limits_.bytes));
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark, as some editors write it
    value();
    if (skip_space() != kEnd) wrong();
  }

 private:
  static constexpr int kEnd = -1;

  /// The byte at hand, kEnd behind the last one.
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : kEnd; }
  int skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
    return peek();
  }
  [[noreturn]] void wrong() const {
    throw ParseError(fmt::format("no valid JSON: it ends or goes wrong at byte {}", at_ + 1));
  }
  void require(int byte) {
    if (peek() != byte) wrong();
    ++at_;
  }

  void value() {
    switch (skip_space()) {
      case '{': return object();
      case '[': return list();
      case '"': return out_.scalar(string());
      case 't': return word("true", true);
      case 'f': return word("false", false);
      case 'n': return word("null", nullptr);
      default: return number();
    }
  }

  void open(bool is_object) {
    if (++level_ > limits_.levels) throw ParseError(fmt::format("nested deeper than {} levels", limits_.levels));
    ++at_;
    out_.open(is_object);
  }
  void close() {
    --level_;
    ++at_;
    out_.close();
  }

  void object() {
    open(true);
    keys_.open();
    if (skip_space() != '}') {
      for (;; ++at_) {
        skip_space();
        const std::string_view name = string();
        if (++key_count_ > limits_.keys) throw ParseError(fmt::format("it has more than {} keys", limits_.keys));
        keys_.add(name);
        out_.key(name);
        skip_space();
        require(':');
        value();
        if (skip_space() != ',') break;
      }
      if (peek() != '}') wrong();
    }
    keys_.close();
    close();
  }

  void list() {
    open(false);
    if (skip_space() != ']') {
      for (;; ++at_) {
        value();
        if (skip_space() != ',') break;
      }
      if (peek() != ']') wrong();
    }
    close();
  }

  void word(std::string_view word, const JsonScalar& meaning) {
    for (const char c : word) require(c);
    out_.scalar(meaning);
  }

  // ---- Text ----

  /// The text between two quotes: where it lies or, when it has escapes, in decoded_.
  std::string_view string() {
    require('"');
    std::size_t from = at_;
    skip_plain();
    if (peek() == '"') return text_.substr(from, at_++ - from);
    for (decoded_.clear(); peek() != '"'; skip_plain()) {
      decoded_.append(text_, from, at_ - from);
      require('\\');
      escape();
      from = at_;
    }
    decoded_.append(text_, from, at_++ - from);
    return decoded_;
  }

  /// Up to a quote, a backslash or what may not stand in a text.
  void skip_plain() {
    static constexpr auto kPlain = [] {
      std::array<bool, 256> plain{};
      for (int c = 0x20; c < 0x80; ++c) plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
      return plain;
    }();
    for (;;) {
      while (at_ < text_.size() && kPlain[static_cast<unsigned char>(text_[at_])]) ++at_;
      if (peek() < 0x80) return;
      const std::size_t bytes = character_bytes(text_.substr(at_));
      if (bytes == 0) return;
      at_ += bytes;
    }
  }

  /// What stands behind a backslash.
  void escape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (peek() == 'u') {
      ++at_;
      return append_character(decoded_, code_point());
    }
    const std::size_t which = peek() == kEnd ? kLetters.npos : kLetters.find(static_cast<char>(peek()));
    if (which == kLetters.npos) wrong();
    decoded_.push_back(kMeanings[which]);
    ++at_;
  }

  /// \uXXXX, or two of them that are one character beyond 0xffff.
  std::uint32_t code_point() {
    const std::uint32_t first = hex4();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff) wrong();
    require('\\');
    require('u');
    const std::uint32_t second = hex4();
    if (second < 0xdc00 || second > 0xdfff) wrong();
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t hex4() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int c = peek(), lower = c | 0x20;
      const bool digit = c >= '0' && c <= '9';
      if (!digit && (lower < 'a' || lower > 'f')) wrong();
      code = code << 4 | static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
    }
    return code;
  }

  // ---- Numbers ----

  void digits() {
    if (peek() < '0' || peek() > '9') wrong();
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  void number() {
    const std::size_t from = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else
      digits();
    bool whole = true;
    if (peek() == '.') {
      whole = false;
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    out_.scalar(meaning_of(text_.substr(from, at_ - from), whole));
  }

  JsonScalar meaning_of(std::string_view number, bool whole) const {
    const auto reads = [number](auto& value) {
      return std::from_chars(number.data(), number.data() + number.size(), value).ec;
    };
    if (std::int64_t value = 0; whole && reads(value) == std::errc()) return value;
    if (std::uint64_t value = 0; whole && number[0] != '-' && reads(value) == std::errc()) return value;
    double value = 0;
    const std::errc error = reads(value);
    if (error == std::errc()) return value;
    if (error == std::errc::not_enough_memory) throw std::bad_alloc();
    throw ParseError(fmt::format("the number that ends at byte {} is beyond all ranges", at_));
  }

  const std::string_view text_;
  const JsonLimits& limits_;
  JsonEvents& out_;
  std::size_t at_ = 0;
  int level_ = 0;
  std::size_t key_count_ = 0;
  OpenKeys keys_;
  std::string decoded_;
};

}  // namespace detail

/// Reads one JSON value, all of `text`.
/// Errors: ParseError, in words that fit behind the name of what is read: no JSON, a limit passed, a key twice in one
/// object (told when the object ends); what `out` throws.
inline void read_json(std::string_view text, const JsonLimits& limits, JsonEvents& out) {
  detail::JsonReader(text, limits, out).read();
}

}  // namespace restride::base
