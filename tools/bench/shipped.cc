#include "tools/bench/shipped.h"

#include <fnmatch.h>

#include "src/base/json_value.h"
#include "src/base/text_file.h"
#include "tools/bench/shipped_files.h"

namespace restride::bench {

std::optional<std::string_view> shipped_cases(std::string_view name) {
  if (name == "field") return kFieldCases;
  if (name == "ttc57") return kTtc57Cases;
  if (name == "extra") return kExtraCases;
  if (name == "odd") return kOddCases;
  if (name == "tune") return kTuneCases;
  return std::nullopt;
}

std::string shipped_class(std::string_view case_name) {
  static const base::JsonValue kClasses = base::parse_json(kClassesText, {base::kMostTextBytes, 16});
  const std::string name(case_name);
  for (const auto& [case_class, patterns] : *kClasses.find("classes")->object())
    for (const base::JsonValue& pattern : *patterns.list())
      if (fnmatch(pattern.text()->c_str(), name.c_str(), 0) == 0) return case_class;
  return "";
}

}  // namespace restride::bench
