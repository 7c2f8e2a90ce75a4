// A small JSON text as values: plans, measurements, case files, results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/json_reader.h"

namespace restride::base {

struct JsonMember;

/// One value and all that it holds. Destroying it allocates nothing, and takes as many calls as it has levels.
struct JsonValue {
  using List = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  ///< in the text's order; no key stands twice
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object> held;

  /// Null where the value is something else.
  const std::string* text() const { return std::get_if<std::string>(&held); }
  const List* list() const { return std::get_if<List>(&held); }
  const Object* object() const { return std::get_if<Object>(&held); }
  /// An integer of 63 bits.
  std::optional<std::int64_t> integer() const;
  /// Any number.
  std::optional<double> number() const;
  /// A member of an object; null: it has none of this name, or is no object.
  const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

inline std::optional<std::int64_t> JsonValue::integer() const {
  const auto* value = std::get_if<std::int64_t>(&held);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

inline std::optional<double> JsonValue::number() const {
  return std::visit(
      [](const auto& value) -> std::optional<double> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
          return static_cast<double>(value);
        else
          return std::nullopt;
      },
      held);
}

inline const JsonValue* JsonValue::find(std::string_view key) const {
  if (object() == nullptr) return nullptr;
  for (const JsonMember& m : *object())
    if (m.key == key) return &m.value;
  return nullptr;
}

namespace detail {

class JsonBuilder final : public JsonEvents {
 public:
  void open(bool is_object) override {
    JsonValue& value = place();
    if (is_object)
      value.held.emplace<JsonValue::Object>();
    else
      value.held.emplace<JsonValue::List>();
    open_.push_back(&value);  // stays where it is: only the innermost container grows
  }
  void close() override { open_.pop_back(); }
  void key(std::string_view name) override { key_ = name; }
  void scalar(const JsonScalar& value) override {
    JsonValue& to = place();
    std::visit(
        [&to](const auto& held) {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string_view>)
            to.held.emplace<std::string>(held);
          else
            to.held = held;
        },
        value);
  }
  JsonValue take() { return std::move(root_); }

 private:
  /// Where the next value belongs.
  JsonValue& place() {
    if (open_.empty()) return root_;
    if (auto* list = std::get_if<JsonValue::List>(&open_.back()->held)) return list->emplace_back();
    auto& members = std::get<JsonValue::Object>(open_.back()->held);
    return members.emplace_back(JsonMember{std::move(key_), {}}).value;
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
};

}  // namespace detail

/// The value that `text` is. Errors: ParseError, as read_json. Memory: up to 40 bytes for each of the text's.
inline JsonValue parse_json(std::string_view text, const JsonLimits& limits) {
  detail::JsonBuilder builder;
  read_json(text, limits, builder);
  return builder.take();
}

}  // namespace restride::base
