// The options that say what a file holds, shared by `copy` and `explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/io/open_array.h"

namespace restride::tools {

/// As given on the command line.
struct InputOptions {
  std::string layout;  ///< of bare bytes: "u16 (1080,1920):(2048,1)"
  std::optional<std::int64_t> offset_bytes;
  std::string dtype;  ///< what the elements really are
};

/// Adds --in-layout, --in-offset and --in-dtype to a subcommand.
void add_input_options(CLI::App& sub, InputOptions& options);

/// True when any of them was given.
bool any(const InputOptions& options);

/// Errors: UsageError: text that cannot be read, an unknown dtype.
io::OpenOptions to_open_options(const InputOptions& options);

}  // namespace restride::tools
