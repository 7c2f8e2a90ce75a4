// Text that came from a file or a command line, on its way into a message or a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace restride::io {

/// True when all of `text` is UTF-8.
bool is_utf8(std::string_view text);

/// Text that is safe on a terminal: UTF-8 as it is, control characters and other bytes as \xNN.
std::string escaped(std::string_view text);

/// The same of a text that may be long: cut after 60 bytes, between characters.
std::string printable(std::string_view text);

/// Text without the blanks around it.
std::string_view trimmed(std::string_view text);

/// Names for a message: "a, b, c", after the twelfth only how many more there are.
std::string listed(const std::vector<std::string>& names);

/// Errors: ArgumentError unless `name` is UTF-8, as the formats that hold names want it; `what` says whose it is.
void require_utf8(std::string_view name, std::string_view what);

}  // namespace restride::io
