// A progress bar for people: on standard error, only when that is a terminal and the work takes over a second.
#pragma once

#include <chrono>
#include <cstdint>

namespace restride::tools {

class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();  ///< wipes the line
  Progress(const Progress&) = delete;
  void update(std::uint64_t done_bytes, std::uint64_t total_bytes);

 private:
  using Clock = std::chrono::steady_clock;
  bool wanted_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace restride::tools
