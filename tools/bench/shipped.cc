#include "tools/bench/shipped.h"

#include <fnmatch.h>

#include <nlohmann/json.hpp>

#include "tools/bench/shipped_files.h"

namespace restride::bench {

std::optional<std::string_view> shipped_cases(std::string_view name) {
  if (name == "field") return kFieldCases;
  if (name == "ttc57") return kTtc57Cases;
  if (name == "extra") return kExtraCases;
  return std::nullopt;
}

std::string shipped_class(std::string_view case_name) {
  static const nlohmann::json kClasses = nlohmann::json::parse(kClassesText);
  const std::string name(case_name);
  for (const auto& [case_class, patterns] : kClasses.at("classes").items())
    for (const auto& pattern : patterns)
      if (fnmatch(pattern.get<std::string>().c_str(), name.c_str(), 0) == 0) return case_class;
  return "";
}

}  // namespace restride::bench
