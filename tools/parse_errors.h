// What the parser of the command line says, in the words of this command.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace restride::tools {

/// The message for `error`, which parsing the options of `command` ended with: an unknown option as it was typed and
/// the nearest one, an option given twice, or without its value. What CLI11 says plainly stays.
std::string in_words(const CLI::ParseError& error, const CLI::App& command);

/// The message for `word`, which is no command but stands in the place of one: what it may have been meant as (a
/// command of another name, an option or view, a file, a layout) with what to type, and the commands that there are.
std::string unknown_command(const std::string& word, const std::vector<const CLI::App*>& commands);

}  // namespace restride::tools
