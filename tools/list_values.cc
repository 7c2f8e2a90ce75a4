#include "tools/list_values.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/io/text.h"

namespace restride::tools {

std::vector<std::string> entries_of(const std::string& option, const std::string& text, std::string_view remedy) {
  std::vector<std::string> out;
  for (std::size_t at = 0, comma = 0; comma != std::string::npos; at = comma + 1) {
    comma = text.find(',', at);
    out.emplace_back(io::trimmed(std::string_view(text).substr(at, comma - at)));
    // CLI11 would leave out what a comma announces.
    if (out.back().empty())
      throw UsageError(fmt::format("{} '{}': entry {} is empty; {}", option, text, out.size(), remedy));
  }
  return out;
}

std::optional<std::int64_t> parse_number(std::string_view where, std::string_view text) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc{}) throw UsageError(fmt::format("{}: {} does not fit 63 bits", where, text));
  return value;
}

std::vector<std::int64_t> parse_numbers(const std::string& option, const std::string& text) {
  constexpr std::string_view kRemedy = "write whole numbers between commas, as in 0,3,1,2";
  const std::string where = fmt::format("{} '{}'", option, text);
  std::string_view list = io::trimmed(text);
  const auto within = [&](char open, char close) { return list.front() == open && list.back() == close; };
  if (list.size() > 2 && (within('(', ')') || within('[', ']'))) list = list.substr(1, list.size() - 2);
  std::vector<std::int64_t> out;
  for (const std::string& entry : entries_of(option, std::string(list), kRemedy))
    for (std::size_t at = 0, end = 0; at != std::string::npos; at = entry.find_first_not_of(' ', end)) {
      end = std::min(entry.find(' ', at), entry.size());
      const std::string word = entry.substr(at, end - at);
      const std::optional<std::int64_t> value = parse_number(where, word);
      if (!value) throw UsageError(fmt::format("{}: '{}' is no whole number; {}", where, word, kRemedy));
      out.push_back(*value);
    }
  return out;
}

}  // namespace restride::tools
