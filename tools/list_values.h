// Options whose value is a list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace restride::tools {

/// What stands between the commas of `text`, without the blanks around it. `option` is whose text it is, for messages.
/// Errors: UsageError naming the entry that is empty; `remedy` says what to write there.
std::vector<std::string> entries_of(const std::string& option, const std::string& text, std::string_view remedy);

/// The whole numbers between the commas of `text`, or between its blanks; parentheses or brackets may stand around all
/// of it, as Python prints a tuple or a list. Errors: UsageError naming `option`.
std::vector<std::int64_t> parse_numbers(const std::string& option, const std::string& text);

/// `text` as a number. Errors: UsageError where it does not fit 63 bits; `where` is what its message begins with.
/// Nothing where it is no whole number at all.
std::optional<std::int64_t> parse_number(std::string_view where, std::string_view text);

}  // namespace restride::tools
