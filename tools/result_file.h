// The file that --json names where results are kept beside what is printed.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace restride::tools {

/// Checks that an option names a file, and not a stream by `-`: that would become a file of this name.
inline CLI::Validator result_file() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        if (text != "-") return "";
        return "'-' names no file; give /dev/stdout for standard output (a file called - is ./-)";
      },
      "");
}

}  // namespace restride::tools
