// A few threads that run one function together, for the ceiling and the peers. The library's own pool is not
// used: what it is measured against must not share its faults.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace restride::bench {

class Team {
 public:
  /// `threads` >= 1, the caller's own included.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(i) once for every i in [0, size()), side by side; returns when all are done. No exceptions.
  void run(const std::function<void(int)>& body);

 private:
  void work(int index);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(int)>* body_ = nullptr;
  long round_ = 0;
  int running_ = 0;
  bool stop_ = false;
};

}  // namespace restride::bench
