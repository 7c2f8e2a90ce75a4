// Threads for a copy: how many pay, and running tasks on them.
#pragma once

#include <cstdint>
#include <optional>

#include <restride/copy.hpp>

namespace restride::cpu {

/// More are never asked for, of an executor neither.
inline constexpr int kMostThreads = 4096;

/// What RESTRIDE_NUM_THREADS says: 0 where it is unset or empty, nothing where it is no number from 1 to kMostThreads.
std::optional<int> threads_from_environment() noexcept;

/// The cores of this process's affinity mask, or fewer where a container's CPU quota grants the time of fewer.
int cores_granted() noexcept;

/// Threads where nobody says how many: `asked` is what the environment says, `quota` the cores by the container's, 0
/// for none. The log is told of an environment that is ignored and of a quota that takes cores away.
int threads_by_default(std::optional<int> asked, int cores, int quota) noexcept;

/// Threads this process may use, kMostThreads at most: options.threads, else the executor's, else RESTRIDE_NUM_THREADS
/// (read once), else the cores it is granted; 1 inside somebody's OpenMP parallel region.
int threads_allowed(const Options& options) noexcept;

/// Calls body(arg, i) once for every i in [0, tasks), on up to `threads` threads, and returns when all are done. Tasks
/// are claimed (team/claims.h), so the calling thread does all that no other begins: of the executor's, if there is
/// one; else of the process's helpers (team/helpers.h), but none inside somebody's OpenMP parallel region.
void run_tasks(const Executor* executor, int threads, int tasks, void (*body)(void* arg, int task), void* arg) noexcept;

}  // namespace restride::cpu
