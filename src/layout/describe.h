// Words for messages: extents and lists as the notation writes them.
#pragma once

#include <span>
#include <string>

#include <restride/layout.hpp>

namespace restride::layout {

/// "(8,64,56)"
std::string join(std::span<const std::int64_t> values);
std::string join_extents(const Modes& modes);

}  // namespace restride::layout
