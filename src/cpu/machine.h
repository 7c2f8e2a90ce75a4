// Which processor this is, as the planner sees it.
#pragma once

#include "src/cpu/planner.h"

namespace restride::cpu {

/// What the CPU's planner goes by here: kAmdMachine on AMD's processors and Hygon's, else the defaults; and what
/// the instruction set permutes.
const CpuMachine& this_cpu() noexcept;

}  // namespace restride::cpu
