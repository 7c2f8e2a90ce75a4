// The threads that help a copy: one set for the process, started when a copy first wants them, asleep between copies.
#pragma once

#include "src/cpu/team/claims.h"

namespace restride::cpu {

/// Does all of `claims` on this thread and up to `helpers` others, which are started if need be and if they can be.
/// Returns when all tasks are done. It waits for helpers that are at a task; for one that has not come it does not.
/// Where another program took a core away from an earlier call, it asks no helper.
void work_with_helpers(Claims& claims, int helpers) noexcept;

/// How many have been started, and not ended.
int helpers_started() noexcept;

/// How many calls are still to be made without helpers, because the machine has other work.
int calls_alone() noexcept;

}  // namespace restride::cpu
