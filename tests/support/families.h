// The families that a test may force, as the registry has them: a new one is tested without being named again.
#pragma once

#include <string_view>
#include <vector>

#include "src/plan/decision.h"

namespace restride::test {

/// The name of every family but noop, which has nothing to force. Not all apply to a layout, or to a device.
inline std::vector<std::string_view> families() {
  std::vector<std::string_view> names;
  for (int i = 0; i < plan::kFamilyCount; ++i)
    if (const auto family = static_cast<plan::Family>(i); family != plan::Family::kNoop)
      names.push_back(plan::name(family));
  return names;
}

}  // namespace restride::test
