// Threads started for one call, as many as can be had.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <thread>

namespace restride::launch {

/// Each runs `work` once, which must outlive this. When this ends they are gone, for the limits on threads too, in
/// which a thread still counts for a moment after it was joined.
class NewThreads {
 public:
  template <class Work>
  NewThreads(int most, const Work& work) noexcept
      : threads_(new (std::nothrow) Thread[static_cast<std::size_t>(most)]) {
    if (threads_ == nullptr) return;
    try {
      for (; started_ < most; ++started_) {
        Thread& t = threads_[static_cast<std::size_t>(started_)];
        t.thread = std::thread([&t, &work]() noexcept {
          t.id = ::syscall(SYS_gettid);
          work();
        });
      }
    } catch (const std::exception&) {  // no more to be had
    }
  }
  template <class Work>
  NewThreads(int, const Work&&) = delete;
  ~NewThreads() {
    for (int i = 0; i < started_; ++i) threads_[static_cast<std::size_t>(i)].thread.join();
    for (int i = 0; i < started_; ++i) wait_until_gone(threads_[static_cast<std::size_t>(i)].id);
  }
  NewThreads(const NewThreads&) = delete;
  NewThreads& operator=(const NewThreads&) = delete;

  int started() const noexcept { return started_; }

 private:
  struct Thread {
    std::thread thread;
    std::atomic<long> id{0};
  };
  static void wait_until_gone(long id) noexcept {
    constexpr int kTries = 10000;  // should another thread have got the number
    for (int i = 0; i < kTries && ::syscall(SYS_tgkill, ::getpid(), id, 0) == 0; ++i) ::sched_yield();
  }

  std::unique_ptr<Thread[]> threads_;
  int started_ = 0;
};

}  // namespace restride::launch
