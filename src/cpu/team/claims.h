// Tasks that are claimed, not dealt: whoever has no task takes one, and nobody waits for one who has not begun.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace restride::cpu {

/// The tasks of one call. Every thread takes those of its own share, in order, and then what is left of the others'. So
/// a thread finds in its caches what it moved there a call before, and the calling thread ends up with all that no
/// other has begun.
class Claims {
 public:
  /// `threads` >= 1 are hoped for; body(arg, i) is called once for every i in [0, tasks).
  Claims(int threads, int tasks, void (*body)(void* arg, int task), void* arg) noexcept
      : body_(body), arg_(arg), shares_(std::clamp(threads, 1, kMostShares)) {
    int begin = 0;
    for (int i = 0; i < shares_; ++i) {
      const int end = begin + tasks / shares_ + (i < tasks % shares_ ? 1 : 0);
      share_[i].next.store(begin, std::memory_order_relaxed);
      share_[i].end = end;
      begin = end;
    }
  }

  /// Does tasks until all are claimed, those of share `mine` first. Others may still be at theirs when it returns.
  void work(int mine) noexcept {
    for (int k = 0; k < shares_; ++k) {
      Share& share = share_[(mine + k) % shares_];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const int task = share.next.fetch_add(1, std::memory_order_relaxed);
        if (task < share.end) body_(arg_, task);
      }
    }
  }

 private:
  static constexpr int kMostShares = 64;  // of more threads, several begin with the same one

  struct alignas(64) Share {
    std::atomic<int> next;  // past `end` by no more than there are threads
    int end;
  };

  void (*body_)(void* arg, int task);
  void* arg_;
  int shares_;
  Share share_[kMostShares];
};

}  // namespace restride::cpu
