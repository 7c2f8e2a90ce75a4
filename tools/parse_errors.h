// What the parser of the command line says, in the words of this command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace restride::tools {

/// The message for `error`, which parsing the options of `command` ended with: an unknown option as it was typed and
/// the nearest one, an option given twice, or without its value. What CLI11 says plainly stays.
std::string in_words(const CLI::ParseError& error, const CLI::App& command);

}  // namespace restride::tools
