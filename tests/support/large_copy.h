// What the planner decides for copies that leave the caches, on copies small enough to be tested by the thousand.
#pragma once

#include "src/api/plan_impl.h"
#include "src/cpu/machine.h"
#include "src/cpu/planner.h"

namespace restride::test {

/// The decision for the copy of `plan` by the same kernel, on a machine where every copy leaves the caches; `near`: one
/// that reads as AMD's processors do.
inline plan::Decision decided_for_large(const Plan::Impl& plan, bool near) {
  cpu::CpuMachine machine = cpu::this_cpu();
  machine.stream_from_bytes = 0;
  machine.thread_cache_bytes = 0;
  machine.near = near;
  return cpu::plan_cpu(plan.canonical, machine, plan.decision.chosen.kernel.text);
}

}  // namespace restride::test
