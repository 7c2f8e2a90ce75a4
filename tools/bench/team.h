// The threads that the ceilings, and peers without threads of their own, share the work over.
#pragma once

#include <functional>

namespace restride::bench {

/// OpenMP's team where there is one, because it is the library's, too: of two pools, the one that waits would spin
/// beside the one that works, and slow the other's measurement down. Without OpenMP, threads of each call's own, as
/// the library's are.
class Team {
 public:
  /// `threads` >= 1, the caller's own included.
  explicit Team(int threads) : size_(threads) {}

  int size() const noexcept { return size_; }

  /// Calls body(i) once for every i in [0, size()), side by side; returns when all are done. No exceptions.
  void run(const std::function<void(int)>& body) const;

 private:
  int size_;
};

}  // namespace restride::bench
