// Words for messages: extents and lists as the notation writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <restride/layout.hpp>

namespace restride::layout {

/// "(8,64,56)"
std::string join(std::span<const std::int64_t> values);
std::string join_extents(const Modes& modes);

/// "1 mode", "2 modes"; the second noun is for those whose plural is no mere s.
inline std::string counted(std::size_t n, std::string_view one, std::string_view many = {}) {
  std::string out = std::to_string(n) + ' ';
  out += n == 1 || many.empty() ? one : many;
  return n == 1 || !many.empty() ? out : out + 's';
}

/// "1 extent but 2 strides"
std::string extents_but_strides(std::size_t extents, std::size_t strides);

}  // namespace restride::layout
