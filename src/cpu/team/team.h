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

/// Threads this process may use, kMostThreads at most: options.threads, else the executor's, else RESTRIDE_NUM_THREADS
/// (read once), else the cores it is granted; 1 inside somebody's OpenMP parallel region.
int threads_allowed(const Options& options) noexcept;

/// Runs body(arg, i) for i in [0, tasks), tasks <= threads of the team, and returns when all are done.
/// On the executor if there is one; on the calling thread alone inside somebody's OpenMP parallel region; else on
/// OpenMP's team, if all its threads can be had and have the stack that a copy needs; else on threads started for the
/// call, as many as can.
void run_tasks(const Executor* executor, int tasks, void (*body)(void* arg, int task), void* arg) noexcept;

}  // namespace restride::cpu
