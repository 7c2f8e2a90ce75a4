// "LAYOUT -> ...": a copy in one line, as `explain` and `bench` take it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <restride/layout.hpp>

namespace restride::tools {

/// What stands behind the arrow is one of three.
struct LayoutArrow {
  Layout src;
  std::optional<std::vector<std::int64_t>> axes;  ///< of a contiguous result, as many as `src` has modes
  std::optional<Element> dtype;                   ///< of a contiguous result
  std::optional<Layout> dst;
  std::string right;  ///< as typed
};

/// True when there is an arrow in it.
bool has_arrow(const std::string& what);

/// `command` is whose argument it is, for messages.
/// Errors: UsageError (text that cannot be read), ShapeError (another number of axes than modes).
LayoutArrow parse_arrow(const std::string& command, const std::string& what);

/// The layout named so. Errors: UsageError.
Layout layout_named(std::string_view text);

}  // namespace restride::tools
