// The numbers of a machine by their names, as a file says them. A name ends with the number's unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "src/base/json_value.h"

namespace restride::plan {

/// A number of `Of`. One of the three is set.
template <class Of>
struct Number {
  std::string_view name;
  double Of::*real = nullptr;
  std::int64_t Of::*whole = nullptr;
  bool Of::*flag = nullptr;
};

/// A number that `restride tune` fits, by its name, and what it is tried at: values, or factors of what it is.
struct FittedNumber {
  static constexpr std::size_t kMostTries = 4;

  template <std::size_t kCount>
  constexpr FittedNumber(std::string_view number, const double (&at)[kCount], bool are_factors = false)
      : name(number), tries(kCount), factors(are_factors) {
    static_assert(kCount <= kMostTries);
    for (std::size_t i = 0; i < kCount; ++i) tried[i] = at[i];
  }

  std::string_view name;
  double tried[kMostTries] = {};
  std::size_t tries;
  bool factors;
};

/// What numbers of a unit may be, so that no sum of times overflows and no sector comes for nothing.
struct NumberRange {
  std::string_view unit;
  double least = 0;
  double most = 0;
};

constexpr NumberRange range_of(std::string_view name) noexcept {
  constexpr NumberRange kUnits[] = {
      {"_bytes_per_ns", 1e-3, 1e6}, {"_ns", 0, 1e9}, {"_bytes", 0, 1e12}, {"_power", -4, 4}};
  for (const NumberRange& r : kUnits)
    if (name.ends_with(r.unit)) return r;
  return {"", 0, 1e6};  // factors, shares, counts
}

/// Appends `"row_ns": 6, ...`, every number, to an object that is open.
template <class Of, std::size_t kCount>
void append_numbers(std::string* out, const Number<Of> (&numbers)[kCount], const Of& of) {
  for (const Number<Of>& n : numbers) {
    *out += out->empty() || out->back() == '{' ? "" : ", ";
    if (n.flag != nullptr)
      *out += fmt::format("\"{}\": {}", n.name, of.*n.flag ? "true" : "false");
    else if (n.whole != nullptr)
      *out += fmt::format("\"{}\": {}", n.name, of.*n.whole);
    else
      *out += fmt::format("\"{}\": {}", n.name, of.*n.real);  // the shortest digits that read back as the same
  }
}

/// Sets the number that `member` names; false where it names none. Errors: ParseError, where the value is out of range.
template <class Of, std::size_t kCount>
bool read_number(const base::JsonMember& member, const Number<Of> (&numbers)[kCount], Of* of) {
  for (const Number<Of>& n : numbers) {
    if (n.name != member.key) continue;
    if (n.flag != nullptr) {
      const bool* value = std::get_if<bool>(&member.value.held);
      if (value == nullptr) throw ParseError(fmt::format("'{}' is neither true nor false", n.name));
      of->*n.flag = *value;
      return true;
    }
    const NumberRange range = range_of(n.name);
    const auto value = member.value.number();
    if (!value || !(*value >= range.least && *value <= range.most) || (n.whole != nullptr && !member.value.integer()))
      throw ParseError(fmt::format("'{}' is no {}number of {:g} to {:g}", n.name, n.whole != nullptr ? "whole " : "",
                                   range.least, range.most));
    if (n.whole != nullptr)
      of->*n.whole = *member.value.integer();
    else
      of->*n.real = *value;
    return true;
  }
  return false;
}

inline constexpr std::size_t kMostMachineName = 60;

/// The name of a machine in a file: it is printed by `explain` and kept in plans. Errors: ParseError.
inline std::string_view machine_name(const base::JsonValue& in) {
  const base::JsonValue* value = in.find("name");
  const std::string* text = value != nullptr ? value->text() : nullptr;
  if (text == nullptr || text->empty() || text->size() > kMostMachineName)
    throw ParseError(fmt::format("no text 'name' of 1 to {} characters", kMostMachineName));
  for (const char c : *text)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') throw ParseError("'name' has other characters than plain ones");
  return *text;
}

}  // namespace restride::plan
