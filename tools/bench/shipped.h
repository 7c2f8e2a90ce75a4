// The case files that are part of the program, so that `restride bench` runs without the source tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace restride::bench {

inline constexpr std::string_view kShippedNames[] = {"field", "ttc57", "extra", "odd"};

/// Text of bench/cases/NAME.json of a shipped name, or nothing.
std::optional<std::string_view> shipped_cases(std::string_view name);

/// The class of a shipped case that does not name one itself (bench/classes.json); "" when there is none.
std::string shipped_class(std::string_view case_name);

}  // namespace restride::bench
