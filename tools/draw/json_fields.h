// Fields of JSON that came from a file and may hold anything.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace restride::draw {

using Json = nlohmann::ordered_json;

/// A number, or 0.
inline double number_in(const Json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

/// Text; other scalars as JSON writes them; nothing where there is none.
inline std::string text_in(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return "";
  return at->is_string() ? at->get<std::string>() : at->dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A list or an object, or an empty one.
inline const Json& part_of(const Json& object, const char* key) {
  static const Json kNothing = Json::array();
  if (!object.is_object()) return kNothing;
  const auto at = object.find(key);
  return at != object.end() && at->is_structured() ? *at : kNothing;
}

}  // namespace restride::draw
