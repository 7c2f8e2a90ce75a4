// Which processor this is, as the planner sees it.
#pragma once

#include "src/plan/cpu_planner.h"

namespace restride::launch {

/// What the CPU's planner goes by here: plan::kAmdMachine on AMD's processors and Hygon's, else the defaults; and what
/// the instruction set permutes.
const plan::CpuMachine& this_cpu() noexcept;

}  // namespace restride::launch
