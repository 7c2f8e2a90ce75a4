// Threads started for one call, as many as can be had.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>
#include <new>

namespace restride::cpu {

/// Each runs `work` once, which must outlive this. When this ends they are gone, for the limits on threads too, in
/// which a thread still counts for a moment after it was joined.
class NewThreads {
 public:
  /// `stack_bytes` of each, whatever the process' default is: that may be too small for a copy (team_stack.h).
  template <class Work>
  NewThreads(int most, std::size_t stack_bytes, const Work& work) noexcept
      : threads_(new (std::nothrow) Thread[static_cast<std::size_t>(most)]),
        work_(&work),
        do_([](const void* w) noexcept { (*static_cast<const Work*>(w))(); }) {
    if (threads_ != nullptr) start(most, stack_bytes);
  }
  template <class Work>
  NewThreads(int, std::size_t, const Work&&) = delete;
  ~NewThreads() {
    for (int i = 0; i < started_; ++i) ::pthread_join(threads_[static_cast<std::size_t>(i)].thread, nullptr);
    for (int i = 0; i < started_; ++i) wait_until_gone(threads_[static_cast<std::size_t>(i)].id);
  }
  NewThreads(const NewThreads&) = delete;
  NewThreads& operator=(const NewThreads&) = delete;

  int started() const noexcept { return started_; }

 private:
  struct Thread {
    const NewThreads* all = nullptr;
    pthread_t thread{};
    std::atomic<long> id{0};
  };

  void start(int most, std::size_t stack_bytes) noexcept {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return;
    const auto least = static_cast<std::size_t>(PTHREAD_STACK_MIN);
    if (::pthread_attr_setstacksize(&attributes, std::max(stack_bytes, least)) == 0)
      for (; started_ < most; ++started_) {
        Thread& t = threads_[static_cast<std::size_t>(started_)];
        t.all = this;
        if (::pthread_create(&t.thread, &attributes, run, &t) != 0) break;  // no more to be had
      }
    ::pthread_attr_destroy(&attributes);
  }
  static void* run(void* thread) noexcept {
    Thread& t = *static_cast<Thread*>(thread);
    t.id = ::syscall(SYS_gettid);
    t.all->do_(t.all->work_);
    return nullptr;
  }
  static void wait_until_gone(long id) noexcept {
    constexpr int kTries = 10000;  // should another thread have got the number
    for (int i = 0; i < kTries && ::syscall(SYS_tgkill, ::getpid(), id, 0) == 0; ++i) ::sched_yield();
  }

  std::unique_ptr<Thread[]> threads_;
  const void* work_;
  void (*do_)(const void* work) noexcept;
  int started_ = 0;
};

}  // namespace restride::cpu
