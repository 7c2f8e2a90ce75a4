#include "src/cpu/team/team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/cpu/team/new_threads.h"
#include "src/cpu/team/quota.h"
#include "src/cpu/team/stack.h"

namespace restride::cpu {
namespace {

int cores_of_affinity_mask() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_threads() noexcept {
  static const int n = [] {
    const int asked = threads_from_environment().value_or(0);
    return asked > 0 ? asked : cores_granted();
  }();
  return n;
}

/// On threads of this call's own: each takes a task when it is done with one.
void run_on_new_threads(int tasks, void (*body)(void*, int), void* arg) noexcept {
  std::atomic<int> next{0};
  const auto work = [&]() noexcept {
    for (int i = next++; i < tasks; i = next++) body(arg, i);
  };
  const NewThreads others(tasks - 1, kStackBytes, work);
  work();
}

#ifdef _OPENMP
/// True in a child forked by a process that had a team. The child inherits the team's books but not its threads, and
/// GCC's runtime would wait for them for ever.
bool team_lost = false;  // set before the child has a second thread

void watch_for_forks() noexcept {
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { team_lost = true; });
  (void)watched;
}

// A thread that OpenMP's runtime cannot start ends the process. So threads are tried out first, where that does no
// harm: as many as the process has not had before, beside all that its teams hold. A team that has its threads, or
// gets no more than there have been at once, pays nothing. A helper is a thread of a team other than its caller.
std::atomic<int> helpers_held{0};      // by all teams: every thread that copies has one
std::atomic<int> helpers_proved{0};    // that can be held at once
thread_local int helpers_of_mine = 0;  // plain data: it stays for copies in destructors that run late

/// How many of so many threads can be started: all of them are there before the first one ends.
int can_be_started(int threads) noexcept {
  std::atomic<bool> all_there{false};
  const auto wait = [&]() noexcept { all_there.wait(false); };
  const NewThreads tried(threads, team_stack_bytes(), wait);
  all_there = true;
  all_there.notify_all();
  return tried.started();
}

/// True when the calling thread's team may have so many helpers.
bool team_may_have(int helpers) noexcept {
  if (helpers == helpers_of_mine) return true;
  struct AtThreadEnd {
    ~AtThreadEnd() { helpers_held -= helpers_of_mine; }
  };
  thread_local const AtThreadEnd at_thread_end;
  const int more = helpers - helpers_of_mine;  // less than 0: the runtime sends them away
  const int held = helpers_held += more;
  int proved = helpers_proved;
  if (more > 0 && held > proved) {
    // Twice as many, so that later on as many may still be on their way out when a team grows again. Where there is no
    // such room, it is looked again each time.
    const int there = can_be_started(2 * more);
    if (there < more) {
      helpers_held -= more;
      return false;
    }
    while (there == 2 * more && proved < held && !helpers_proved.compare_exchange_weak(proved, held)) {
    }
  }
  helpers_of_mine = helpers;
  return true;
}
#endif

}  // namespace

std::optional<int> threads_from_environment() noexcept {
  const char* text = std::getenv("RESTRIDE_NUM_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  const char* end = text + std::strlen(text);
  int n = 0;
  const auto [stop, error] = std::from_chars(text, end, n);
  if (error != std::errc() || stop != end || n < 1 || n > kMostThreads) return std::nullopt;
  return n;
}

int cores_granted() noexcept {
  const int cores = cores_of_affinity_mask(), quota = cores_by_quota();
  return quota > 0 ? std::min(cores, quota) : cores;
}

int threads_allowed(const Options& options) noexcept {
  const int most = options.threads > 0 ? std::min(options.threads, kMostThreads) : kMostThreads;
  if (options.executor != nullptr && options.executor->parallel == nullptr)
    return 1;  // a pool without threads: the caller's own
  if (options.executor != nullptr) return std::clamp(options.executor->threads, 1, most);
#ifdef _OPENMP
  if (omp_in_parallel() != 0) return 1;
#endif
  return options.threads > 0 ? most : default_threads();
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
  if (omp_in_parallel() != 0) {  // a plan made outside; the threads there are the caller's to share out
    for (int i = 0; i < tasks; ++i) body(arg, i);
    return;
  }
  if (!team_lost && team_stack_bytes() >= kStackBytes && team_may_have(tasks - 1)) {
    watch_for_forks();
#pragma omp parallel for num_threads(tasks) schedule(static, 1)
    for (int i = 0; i < tasks; ++i) body(arg, i);
    return;
  }
#endif
  // Built without OpenMP (or under ThreadSanitizer, which cannot see into its runtime), behind a fork, where the
  // team's stacks are too small, or where not all of it can be had.
  run_on_new_threads(tasks, body, arg);
}

}  // namespace restride::cpu
