// The threads that the ceilings, and peers without threads of their own, share the work over.
#pragma once

#include <functional>

namespace restride::bench {

/// The library's own helpers: of two pools, the one that waits would take the core of the one that works for a while,
/// and slow the other's measurement down.
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
