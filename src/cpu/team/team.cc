#include "src/cpu/team/team.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "src/base/log.h"
#include "src/cpu/team/claims.h"
#include "src/cpu/team/helpers.h"
#include "src/cpu/team/quota.h"

namespace restride::cpu {
namespace {

int cores_of_affinity_mask() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_threads() noexcept {
  static const int n = threads_by_default(threads_from_environment(), cores_of_affinity_mask(), cores_by_quota());
  return n;
}

/// A quota of 0 is none.
int least_granted(int cores, int quota) noexcept { return quota > 0 ? std::min(cores, quota) : cores; }

#ifdef __ELF__
// OpenMP's, where the program uses it; no runtime of OpenMP is linked for it.
extern "C" [[gnu::weak]] int omp_in_parallel();
bool in_parallel_region() noexcept { return omp_in_parallel != nullptr && omp_in_parallel() != 0; }
#else
bool in_parallel_region() noexcept { return false; }
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

int cores_granted() noexcept { return least_granted(cores_of_affinity_mask(), cores_by_quota()); }

int threads_by_default(std::optional<int> asked, int cores, int quota) noexcept {
  if (!asked)
    base::log("RESTRIDE_NUM_THREADS='{}' is no number from 1 to {} and is ignored; correct or unset it",
              std::getenv("RESTRIDE_NUM_THREADS"), kMostThreads);
  if (asked.value_or(0) > 0) return *asked;
  if (least_granted(cores, quota) < cores)
    base::log(
        "copies have {} of {} cores, because the container's CPU quota grants no more; raise it, or set "
        "Options::threads",
        quota, cores);
  return least_granted(cores, quota);
}

int threads_allowed(const Options& options) noexcept {
  const int most = options.threads > 0 ? std::min(options.threads, kMostThreads) : kMostThreads;
  if (options.executor != nullptr && options.executor->parallel == nullptr)
    return 1;  // a pool without threads: the caller's own
  if (options.executor != nullptr) return std::clamp(options.executor->threads, 1, most);
  if (in_parallel_region()) {
    static constinit std::atomic<bool> said{false};
    if (options.threads != 1 && base::log_is_on() && !said.exchange(true))
      base::log(
          "a copy has one thread, because it is called in a parallel region of OpenMP; call it outside, or give it "
          "Options::executor");
    return 1;
  }
  return options.threads > 0 ? most : default_threads();
}

void run_tasks(const Executor* executor, int threads, int tasks, void (*body)(void*, int), void* arg) noexcept {
  Claims claims(threads, tasks, body, arg);
  if (threads <= 1 || (executor == nullptr && in_parallel_region()))  // by a plan made outside the region
    claims.work(0);
  else if (executor != nullptr)
    executor->parallel(
        executor->context, threads, [](void* all, int i) { static_cast<Claims*>(all)->work(i); }, &claims);
  else
    work_with_helpers(claims, threads - 1);
}

}  // namespace restride::cpu
