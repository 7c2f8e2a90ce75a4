#include "src/launch/team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace restride::launch {
namespace {

int cores_of_affinity_mask() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int threads_from_environment() noexcept {
  const char* text = std::getenv("RESTRIDE_NUM_THREADS");
  if (text == nullptr) return 0;
  const char* end = text + std::strlen(text);
  int n = 0;
  const auto [stop, error] = std::from_chars(text, end, n);
  return error == std::errc() && stop == end && n > 0 && n <= kMostThreads ? n : 0;
}

int default_threads() noexcept {
  static const int n = [] {
    const int asked = threads_from_environment();
    return asked > 0 ? asked : cores_of_affinity_mask();
  }();
  return n;
}

/// Threads of this call's own.
void run_on_new_threads(int tasks, void (*body)(void*, int), void* arg) noexcept {
  const std::unique_ptr<std::thread[]> others(new (std::nothrow) std::thread[static_cast<std::size_t>(tasks - 1)]);
  int started = 0;
  if (others != nullptr) {
    try {
      for (; started < tasks - 1; ++started)
        others[static_cast<std::size_t>(started)] = std::thread(body, arg, started);
    } catch (const std::exception&) {  // no more threads to be had: this one does the rest
    }
  }
  for (int i = started; i < tasks; ++i) body(arg, i);
  for (int i = 0; i < started; ++i) others[static_cast<std::size_t>(i)].join();
}

#ifdef _OPENMP
/// True in a child forked by a process that had a team. The child inherits the team's books but not its threads, and
/// GCC's runtime would wait for them for ever.
bool team_lost = false;  // set before the child has a second thread

void watch_for_forks() noexcept {
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { team_lost = true; });
  (void)watched;
}
#endif

}  // namespace

int threads_allowed(const Options& options) noexcept {
  if (options.executor != nullptr && options.executor->parallel == nullptr)
    return 1;  // a pool without threads: the caller's own
  if (options.executor != nullptr)
    return std::max(
        1, options.threads > 0 ? std::min(options.threads, options.executor->threads) : options.executor->threads);
#ifdef _OPENMP
  if (omp_in_parallel() != 0) return 1;
#endif
  return options.threads > 0 ? std::min(options.threads, kMostThreads) : default_threads();
}

void run_tasks(const Executor* executor, int tasks, void (*body)(void*, int), void* arg) noexcept {
  if (tasks <= 1) {
    if (tasks == 1) body(arg, 0);
    return;
  }
  if (executor != nullptr) {
    executor->parallel(executor->context, tasks, body, arg);
    return;
  }
#ifdef _OPENMP
  if (!team_lost) {
    watch_for_forks();
#pragma omp parallel for num_threads(tasks) schedule(static, 1)
    for (int i = 0; i < tasks; ++i) body(arg, i);
    return;
  }
#endif
  // Built without OpenMP (or under ThreadSanitizer, which cannot see into its runtime), or behind a fork.
  run_on_new_threads(tasks, body, arg);
}

}  // namespace restride::launch
