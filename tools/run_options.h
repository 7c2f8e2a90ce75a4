// The options that say how to copy, shared by `copy` and `explain`.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <restride/copy.hpp>
#include <restride/measurements.hpp>

namespace restride::tools {

/// A value of --fresh-destination: off, advise or prefault, which it has been checked to be.
FreshDestination fresh_destination_named(const std::string& name);
/// Adds --fresh-destination.
CLI::Option* add_fresh_destination(CLI::App& sub, std::string& name);

/// Options that say how to copy: --threads, --device, --family, --measure, --measurements, --fresh-destination.
struct RunOptions {
  int threads = 0;
  std::string device = "auto";
  std::string family;
  bool measure = false;
  std::string fresh_destination = "off";
  std::string measurements;  ///< a file
  Measurements kept;         ///< what it holds
};
void add_run_options(CLI::App& sub, RunOptions& options);
/// Reads the file of measurements if there is one, and tries whether it can be written where it will be. `options`
/// must outlive the result, which refers to it. Errors: UsageError (no such family), IoError, ParseError.
Options to_options(RunOptions& options);
/// Writes measurements back to their file, when any may have been made.
void save_measurements(const RunOptions& options);

/// cpu::threads_from_environment, but where that has no number, which the library ignores, the command refuses it.
/// Errors: UsageError.
int threads_from_environment();

/// The families of kernels that --family takes.
std::vector<std::string> family_names();

/// Errors: UsageError listing the names, unless there is such a family of kernels; empty leaves the choice.
void require_family(const std::string& name);

}  // namespace restride::tools
