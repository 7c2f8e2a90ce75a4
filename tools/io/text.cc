#include "tools/io/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <restride/error.hpp>

#include "src/base/utf8.h"

namespace restride::io {
namespace {

using base::character_bytes;

/// C0, DEL and C1, which terminals obey.
bool is_control(std::string_view character) {
  const auto first = static_cast<std::uint8_t>(character[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<std::uint8_t>(character[1]) < 0xa0);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    if (n > 0 && !is_control(text.substr(0, n))) {
      out += text.substr(0, n);
      text.remove_prefix(n);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return escaped(text);
  std::size_t cut = kMost;
  while (cut > kMost - 4 && (static_cast<std::uint8_t>(text[cut]) & 0xc0) == 0x80) --cut;
  return escaped(text.substr(0, cut)) + "...";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i ? ", " : "") + printable(names[i]);
  return names.size() <= kMost ? out : fmt::format("{} and {} more", out, names.size() - kMost);
}

void require_utf8(std::string_view name, std::string_view what) {
  if (!is_utf8(name)) throw ArgumentError(fmt::format("{} '{}' is no valid UTF-8", what, printable(name)));
}

}  // namespace restride::io
