// A thread that looks at the words of runs (gpu_link.h) and ends those that take too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/distributed/gpu_link.h"

namespace restride::distributed {

class Watchman {
 public:
  /// `fault`: what is wrong besides, empty if nothing; it is asked some times a second. `stop` ends all runs. Both are
  /// called by the thread, without a lock.
  Watchman(std::shared_ptr<Device> device, std::function<std::string()> fault,
           std::function<void(const std::string& why)> stop);
  ~Watchman();
  Watchman(const Watchman&) = delete;
  Watchman& operator=(const Watchman&) = delete;

  void watch(RunWord* word, std::chrono::milliseconds most);
  void forget(RunWord* word) noexcept;
  /// From now on no stream waits for other ranks in a run.
  void release() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::chrono::milliseconds most;
    Clock::time_point since;  ///< when the run that is on its way was first seen
  };
  void work();
  std::string late(Clock::time_point now);

  std::shared_ptr<Device> device_;
  std::function<std::string()> fault_;
  std::function<void(const std::string&)> stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunWord*, Watched> watched_;
  bool released_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace restride::distributed
