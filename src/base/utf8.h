// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace restride::base {

/// Bytes of the UTF-8 character that `text` begins with; 0: none does. RFC 3629: no overlong forms, no surrogates.
inline std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::size_t n = byte(0) < 0x80   ? 1
                        : byte(0) < 0xc2 ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf5 ? 4
                                         : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
  const bool beyond = byte(0) == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || beyond ? 0 : n;
}

/// Appends the character of a code point below 0x110000 that is no surrogate.
inline void append_character(std::string& text, std::uint32_t code) {
  const auto add = [&text](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto add_tail = [&](int places) { add(0x80 | (code >> places & 0x3f)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add_tail(0);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add_tail(6);
    add_tail(0);
  } else {
    add(0xf0 | code >> 18);
    add_tail(12);
    add_tail(6);
    add_tail(0);
  }
}

}  // namespace restride::base
