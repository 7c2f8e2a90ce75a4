// JSON on its way out.
#pragma once

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace restride::io {

/// A report as JSON text. Paths may be any bytes, JSON must be UTF-8: what is not becomes U+FFFD.
template <class Json>
std::string json_text(const Json& report, int indent = 2) {
  return report.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// True for a list of objects and for whatever has one in it.
template <class Json>
bool has_rows(const Json& value) {
  const bool list = value.is_array();
  return value.is_structured() && std::any_of(value.begin(), value.end(), [&](const Json& part) {
           return (list && part.is_object()) || has_rows(part);
         });
}

/// A report with its lists of objects written one object a line, so that a diff shows which of them changed: what has
/// rows is broken over lines, everything else stands on one. scripts/result_file.py writes the same text.
template <class Json>
std::string json_rows(const Json& value, const std::string& indent = "") {
  if (!value.is_structured()) return json_text(value, -1);
  const bool list = value.is_array(), broken = has_rows(value);
  const std::string inner = indent + " ";
  std::string out(1, list ? '[' : '{');
  const char* separator = "";
  for (auto part = value.begin(); part != value.end(); ++part) {
    out += separator + (broken ? "\n" + inner : "");
    if (!list) out += json_text(Json(part.key()), -1) + ": ";
    out += json_rows(*part, inner);
    separator = broken ? "," : ", ";
  }
  if (broken) out += "\n" + indent;
  return out + (list ? ']' : '}');
}

}  // namespace restride::io
