// A progress bar for people: on standard error, only when that is a terminal and the work takes over a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace restride::tools {

/// What stands there after `seconds`, when `part` of the work is done, which reads and writes `moved_bytes` as a whole.
std::string progress_line(double part, double moved_bytes, double seconds);

class Progress {
 public:
  /// `moved_bytes`: what the whole work reads and writes, as reports count it.
  Progress(bool wanted, std::int64_t moved_bytes);
  ~Progress();  ///< wipes the line
  Progress(const Progress&) = delete;
  /// `done` of them.
  void update(double done);
  /// The work is done, and what follows has no measure: the file gets its name, behind the device when `sync` says so.
  void finishing(bool sync);

 private:
  using Clock = std::chrono::steady_clock;
  bool wanted_;
  void show(const std::string& line);

  double moved_bytes_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace restride::tools
