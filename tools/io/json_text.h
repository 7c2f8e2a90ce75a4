// JSON of reports: as values that a command puts together, as text, and read again.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/base/json_reader.h"
#include "src/base/text_file.h"

namespace restride::io {

/// Empties objects and lists from the inside. Destroying full ones allocates, and ends the program where memory is
/// short; destroying empty ones does not.
template <class Json>
void take_apart(Json& value) noexcept {
  if (auto* list = value.template get_ptr<typename Json::array_t*>()) {
    for (Json& part : *list) take_apart(part);
    list->clear();
  } else if (auto* members = value.template get_ptr<typename Json::object_t*>()) {
    for (auto& member : *members) take_apart(member.second);
    members->clear();
  }
}

namespace json {

class ReportBuilder final : public base::JsonEvents {  // NOLINT(bugprone-exception-escape): null throws nothing
 public:
  using Json = nlohmann::ordered_json;
  ~ReportBuilder() override { take_apart(root_); }
  void open(bool is_object) override {
    Json& value = place();
    value = is_object ? Json::object() : Json::array();
    open_.push_back(&value);  // stays where it is: only the innermost grows
  }
  void close() override { open_.pop_back(); }
  void key(std::string_view name) override { key_ = name; }
  void scalar(const base::JsonScalar& value) override {
    Json& to = place();
    std::visit([&to](const auto& held) { to = held; }, value);
  }
  Json take() { return std::move(root_); }

 private:
  Json& place() {
    if (open_.empty()) return root_;
    Json& in = *open_.back();
    if (in.is_array()) return in.get_ref<Json::array_t&>().emplace_back();
    // Not by operator[], which looks through all keys; the reader has found none twice.
    return in.get_ref<Json::object_t&>()
        .std::vector<Json::object_t::value_type>::emplace_back(std::move(key_), Json())
        .second;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace json

/// An older report, to be added to. Errors: ParseError, as base::read_json.
inline nlohmann::ordered_json parse_report(std::string_view text) {
  constexpr base::JsonLimits kLimits{base::kMostTextBytes, 16};
  json::ReportBuilder builder;
  base::read_json(text, kLimits, builder);
  return builder.take();
}

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
