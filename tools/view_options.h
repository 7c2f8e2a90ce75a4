// The options that say what becomes of a layout, shared by `copy` and `explain`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <restride/copy.hpp>
#include <restride/layout.hpp>
#include <restride/measurements.hpp>

namespace restride::tools {

/// As given on the command line; applied in the order of the fields.
struct ViewOptions {
  std::string slice;               ///< "8:16392,::-1"
  std::vector<std::int64_t> flip;  ///< modes, negative from the end
  std::vector<std::int64_t> broadcast;
  std::vector<std::int64_t> axes;
  std::string rearrange;           ///< "b h w c -> b c h w"
  std::vector<std::string> sizes;  ///< "b2=4"
  std::vector<std::int64_t> reshape;
  std::string dtype;        ///< empty: unchanged
  std::string order = "C";  ///< "F": first mode fastest
};

/// A copy as the options want it.
struct CopyRequest {
  Layout result;  ///< what the output is: its shape, dense, offset 0
  Layout dst;     ///< the same memory with the extents of `src`
  Layout src;
  bool fortran_order = false;
};

/// Adds --slice ... --order to a subcommand.
void add_view_options(CLI::App& sub, ViewOptions& options);

/// True when any option would change the layout or the dtype.
bool any(const ViewOptions& options);

/// Errors: UsageError (text that cannot be read, an unknown dtype), ShapeError, RangeError, CastError.
CopyRequest apply(const ViewOptions& options, const Layout& input);

/// Options that say how to copy: --threads, --device, --family, --measure, --measurements.
struct RunOptions {
  int threads = 0;
  std::string device = "auto";
  std::string family;
  bool measure = false;
  std::string measurements;  ///< a file
  Measurements kept;         ///< what it holds
};
void add_run_options(CLI::App& sub, RunOptions& options);
/// Reads the file of measurements if there is one, and tries whether it can be written where it will be. `options`
/// must outlive the result, which refers to it. Errors: UsageError (no such family), IoError, ParseError.
Options to_options(RunOptions& options);
/// Writes measurements back to their file, when any may have been made.
void save_measurements(const RunOptions& options);

/// The element named so. Errors: UsageError listing the names.
Element element_named(const std::string& name);

/// Errors: UsageError listing the names, unless there is such a family of kernels; empty leaves the choice.
void require_family(const std::string& name);

}  // namespace restride::tools
