// JSON on its way out.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace restride::io {

/// A report as JSON text. Paths may be any bytes, JSON must be UTF-8: what is not becomes U+FFFD.
template <class Json>
std::string json_text(const Json& report, int indent = 2) {
  return report.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace restride::io
