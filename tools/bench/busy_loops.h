// Processes that do nothing but keep cores busy.
#pragma once

#include <sys/types.h>

#include <vector>

namespace restride::bench {

/// So many of them, from construction to destruction; they end with this process, too. Errors: Error where the system
/// starts no more.
class BusyLoops {
 public:
  explicit BusyLoops(int count);
  ~BusyLoops();
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  void end() noexcept;
  std::vector<pid_t> processes_;
};

}  // namespace restride::bench
