// The options that say what becomes of a layout, shared by `copy` and `explain`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <restride/layout.hpp>

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

/// The element named so. Errors: UsageError listing the names.
Element element_named(const std::string& name);

}  // namespace restride::tools
