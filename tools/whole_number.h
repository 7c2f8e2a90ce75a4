// The numbers that options take.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace restride::tools {

/// Checks that an option is a whole number within these limits. CLI::Range calls 1.5 out of range, whatever the range.
inline CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t value = 0;
    errno = 0;  // numbers beyond 64 bits become the largest there is
    if (CLI::detail::lexical_cast(text, value) && errno != ERANGE && value >= least && value <= most) return "";
    return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, fmt::format("INT in [{} - {}]", least, most));
}

}  // namespace restride::tools
