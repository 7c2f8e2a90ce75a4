// Text as JSON.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace restride::base {

/// `text`, which is UTF-8, between quotes.
inline std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out.append({'\\', c});
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out += '"';
}

}  // namespace restride::base
