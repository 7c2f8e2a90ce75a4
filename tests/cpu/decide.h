// What the CPU planner decides for layouts as text.
#pragma once

#include <string_view>

#include "src/cpu/planner.h"

namespace restride::cpu {

inline Decision decide(std::string_view dst, std::string_view src, std::string_view forced = {},
                       const CpuMachine& machine = {}) {
  return plan_cpu(layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere),
                  machine, forced);
}

/// A family's bid, the chosen one included; nullptr: it has none.
inline const Candidate* find(const Decision& d, Family family) {
  for (const Candidate& k : d.others)
    if (k.kernel.family == family) return &k;
  return d.chosen.kernel.family == family ? &d.chosen : nullptr;
}

/// The kernel that is chosen.
inline Candidate chosen(std::string_view dst, std::string_view src, const CpuMachine& machine) {
  return decide(dst, src, {}, machine).chosen;
}

}  // namespace restride::cpu
