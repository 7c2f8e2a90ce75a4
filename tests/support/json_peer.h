// The reader of JSON against nlohmann-json, for tests and the fuzzer.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include "src/base/json_value.h"

namespace restride::test {

/// The same value in nlohmann-json's terms.
inline nlohmann::json as_nlohmann(const base::JsonValue& value) {
  if (const auto* list = value.list()) {
    auto out = nlohmann::json::array();
    for (const base::JsonValue& item : *list) out.push_back(as_nlohmann(item));
    return out;
  }
  if (const auto* object = value.object()) {
    auto out = nlohmann::json::object();
    for (const auto& [key, item] : *object) out[key] = as_nlohmann(item);
    return out;
  }
  return std::visit(
      [](const auto& held) -> nlohmann::json {
        if constexpr (std::is_convertible_v<decltype(held), nlohmann::json>)
          return held;
        else
          return nullptr;  // lists and objects, which are dealt with
      },
      value.held);
}

/// What the two make of `text`, where they must agree and do not; else nothing.
inline std::string disagreement(std::string_view text) {
  constexpr base::JsonLimits kLimits{1 << 20, 16};
  const nlohmann::json theirs = nlohmann::json::parse(text, nullptr, false);
  const bool ends_early = text.find('\0') != text.npos;  // for nlohmann-json
  try {
    const nlohmann::json ours = as_nlohmann(base::parse_json(text, kLimits));
    return ours == theirs ? "" : "read as " + ours.dump() + ", by nlohmann-json as " + theirs.dump();
  } catch (const ParseError& e) {
    const std::string why = e.what();
    if (why.starts_with("no valid JSON"))
      return theirs.is_discarded() || ends_early ? "" : why + ", but not for nlohmann-json";
    return "";  // what passes a limit, has a key twice, or a number beyond all ranges: theirs to take
  }
}

}  // namespace restride::test
