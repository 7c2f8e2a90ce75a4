// Plans as text, made and edited.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <restride/restride.hpp>

namespace restride::test {

/// A plan for the CPU between two layouts in the notation; `family` forces one.
inline Plan made(std::string_view dst, std::string_view src, std::string_view family = {}) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.family = family;
  return Plan(parse_layout(dst), parse_layout(src), options);
}

/// The text of a plan with `value` behind `key`.
inline std::string with(std::string text, const std::string& key, const std::string& value) {
  const std::string name = std::string(1, '"').append(key).append("\":");
  const std::size_t at = text.find(name);
  EXPECT_NE(at, std::string::npos) << key << " in " << text;
  if (at == std::string::npos) return text;
  const std::size_t from = at + name.size();
  return text.replace(from, text.find_first_of(",}", from) - from, value);
}
inline std::string with(std::string text, const std::string& key, std::int64_t value) {
  return with(std::move(text), key, std::to_string(value));
}

}  // namespace restride::test
